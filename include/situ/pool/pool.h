// Persistent pools: objects in a file that is memory. A pool is opened at the addresses that it was made at, so its
// objects hold ordinary pointers to each other, and what was reached from a root before is reached again, in this
// process or the next.
//
//   struct entry { long key; entry* next; };
//   situ::pool pool = situ::pool::open_or_create("index.pool");
//   pool.transact([&](situ::transaction& t) {
//     entry* const head = pool.root<entry>("head");            // null in a new pool
//     t.set_root("head", t.make<entry>(42, head));             // all of it, or nothing
//   });
//
// What is written in a pool is written in a transaction, after a snapshot (`change`, `set`): a body that is left by an
// exception, and a process that ends at any instruction, leave what was there before. Objects that a transaction makes
// are the pool's once it is complete, and free again if it is not. Objects are described classes (graph/describe.h) or
// data, without what lies outside the pool: no standard containers, no strings, no situ::ptr.
//
// Several processes share a pool: they open it, and that is all. One transaction runs at a time, in all of them; others
// wait for its end. Read sections (`pool.read`) run beside each other, in any process and thread, and see whole
// transactions: none begins or ends within one. Who reads without a section or a transaction of its own sees what is
// being written. A process that is killed in a transaction takes nothing with it: whoever comes next takes back what it
// had done. (A pool with the promise of a machine, on a file that is not memory itself, has one process that writes, or
// several that read.)
//
// pool is movable, not copyable; transact, read, root and info may be called from any thread. A child of the process
// (fork) opens the pool anew: each call of its parent's pool throws bad_file there. Errors: bad_file for a file that is
// no sound pool, or that others have for longer than one wants to wait; out_of_memory for a full disk or pool,
// bad_argument; they name the file, where it is an offset, and what to do. Source: Rudoff, "Persistent Memory:
// The Value to HPC and the Challenges" (MCHPC'17), section 2.2.4; libpmemobj; docs/decisions/0021-pools.md.
#pragma once

#include <situ/base/units.h>
#include <situ/graph/describe.h>
#include <situ/graph/detail/arena.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

// What a complete transaction survives; fixed when a pool is made.
enum class pool_promise : std::uint8_t {
  process,  // the end of its process, at any instruction. Nothing is flushed; if the machine goes down, the pool may be
            // torn: make it anew from its source then
  machine,  // also the machine's: each transaction waits for the device, or for the persistence domain
  batched,  // the end of its process at once, and the machine's after a while: the device is waited for every
            // `sync_every`, for all transactions since. A machine that goes down takes back the last of them, whole
            // ones
};
// Whether a pool may be written, and beside whom.
enum class pool_access : std::uint8_t {
  write,      // beside others who write and read
  read,       // beside others who write and read
  exclusive,  // written by this opener alone: nobody else has it open
};
// How to make a pool.
struct pool_options {
  // How far it may grow. Addresses, and 1/2048 of it in holes of the file, are taken at once; a multiple of 16 KiB.
  std::uint64_t most_bytes = std::uint64_t{64} << 30;
  pool_promise promise = pool_promise::process;
  // Of batched: how long a complete transaction may wait for the device. Up to an hour; 0: until pool::sync.
  std::chrono::milliseconds sync_every{10};
  // Each object gets a check of what it holds (CRC-32C, 4 bytes), which transactions bring up to date with it: so what
  // has changed otherwise, on a device, in memory or by a stray store, is found by `pool::check`, by `situ pool check`,
  // and by the commit that is to change an object of up to 512 bytes again (bad_file). Builds of Situ before it cannot
  // open such a pool. docs/decisions/0025-object-checks.md says what it costs.
  bool object_checks = false;
  // Of this opening, as pool::check_writes.
  bool checked = false;
};

// What a pool is, and what its opening found.
struct pool_info {
  std::string path;
  std::uintptr_t base = 0;         // where it lies in this process
  bool is_moved = false;           // its own addresses were taken, so this process reads it elsewhere
  bool is_shared = false;          // others may write it meanwhile, or where it is written read it
  std::uint32_t version = 0;       // of its bytes
  bool has_object_checks = false;  // as pool_options::object_checks
  std::uint64_t heap_bytes = 0;    // that objects have, or may have without growing
  std::uint64_t free_bytes = 0;    // of those, in whole chunks of 16 KiB that nothing has
  std::uint64_t most_bytes = 0;    // how far the heap may grow
  std::uint64_t transactions = 0;  // that have changed it, aborted ones with changes included
  pool_promise promise = pool_promise::process;
  std::string medium;     // "page cache", "DAX", "file system in memory"
  std::string primitive;  // how bytes are brought where they stay: "none", "fdatasync", "clwb", ...
  // Opening it found a transaction that its writer had not completed, and took it back: so many ranges, so many bytes.
  std::uint64_t restored_ranges = 0;
  std::uint64_t restored_bytes = 0;
  // Or so many complete transactions, which were in its log alone.
  std::uint64_t replayed_transactions = 0;
  // A root: its name, where its object is, and what it was stored as.
  struct root {
    std::string name;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t bytes = 0;   // of its type
    std::uint64_t fingerprint = 0;
  };
  std::vector<root> roots;
};

// What a look at all of a pool's own structures found.
struct pool_findings {
  std::uint64_t blocks = 0;  // that are allocated
  std::uint64_t block_bytes = 0;
  std::uint64_t slabs = 0;
  std::uint64_t checked_blocks = 0;  // of those, whose checks were looked at
  // Blocks that no root reaches: they have leaked. With the types of all roots exactly these; without types those that
  // no word of a reached block leads to, so there may be more. Not looked for within a transaction.
  std::uint64_t unreached_blocks = 0;
  std::uint64_t unreached_bytes = 0;
  std::uint64_t stray_pointers = 0;  // that lead to no object, where the types of all roots were given
  std::vector<std::string> damage;   // each with its offset; empty: sound
  std::vector<std::string> notes;  // what the next opening for writing mends, and lists that come back to their middle
};

// What a collection found and did.
struct pool_collected {
  std::uint64_t kept_blocks = 0;  // that roots reach
  std::uint64_t kept_bytes = 0;
  std::uint64_t freed_blocks = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t left_blocks = 0;  // that nothing reaches and that are yet to be freed
};

class pool;
template <class Old, class New>
struct pool_migration;  // migration.h
struct pool_migrated;

namespace detail {

class open_pool;
class pool_sharing;
struct pool_slot;

// A read section of a thread, among those that it is in.
struct pool_section {
  const pool_sharing* of = nullptr;  // null where it is within another one, or a transaction
  pool_section* outer = nullptr;
  pool_slot* slot = nullptr;  // where it is counted
};
struct pool_migration_step;

// A type as a root names it.
struct pool_type {
  const type_descriptor* descriptor;
  std::string_view name;
  std::size_t bytes;
};

template <class T>
[[nodiscard]] consteval bool check_pool_object() {
  static_assert(std::is_trivially_destructible_v<T>,
                "situ: this type holds memory outside the pool (it has a destructor), which would be gone when the "
                "pool is opened again: use pointers to objects of the pool instead");
  static_assert(!std::is_polymorphic_v<T>,
                "situ: a class with virtual functions cannot lie in a pool, for its vtable "
                "lies elsewhere in another process");
  static_assert(!std::is_pointer_v<T> && !std::is_reference_v<T> && !std::is_const_v<T>,
                "situ: make an object of a class, or data");
  return true;
}

template <class T>
[[nodiscard]] pool_type pool_type_of() {
  static_assert(std::is_class_v<T>, "situ: a root is an object of a class: wrap data in a struct");
  static_assert(check_class<T>());
  return {&descriptor_of<T>(), type_name<T>(), sizeof(T)};
}

// What a copy of an object in a pool may be used as: a class with a destructor has containers that are not the pool's.
template <class T>
using persisted = std::conditional_t<std::is_trivially_destructible_v<T>, T, const T>;

}  // namespace detail

// The types of roots, for pool_opening. cost: for a type's first use, its description.
template <class... Types>
[[nodiscard]] std::vector<detail::pool_type> pool_types() {
  return {detail::pool_type_of<Types>()...};
}

// How to open a pool that is there.
struct pool_opening {
  pool_access access = pool_access::write;
  // How long to wait for a process that is in a transaction or a read section, before bad_file names it. After a second
  // a warning names it (situ/base/log.h).
  std::chrono::nanoseconds patience = std::chrono::seconds{60};
  // Of all its roots: `pool_types<A, B>()`. With them a pool whose addresses are taken is moved to others, in its file,
  // when it is opened for writing and nobody else has it; without them it is refused. A crash meanwhile leaves a pool
  // that the next such opening completes. Moved are pointers that are reached from roots by declared fields.
  std::vector<detail::pool_type> types;
  // Of a pool whose objects have checks (else bad_argument): `root` throws bad_file where an object that the root
  // reaches has changed otherwise than by transactions. It looks the first time that this opening asks for a root, but
  // not within a transaction that has changed something. cost: a walk of all that the root leads to, and reading it.
  bool verify_roots = false;
  // Brings all objects from the disk into memory meanwhile, in the order in which they lie: for who is about to look at
  // most of a pool that memory has room for, and whose pages are not there. cost: a thread, until all is read.
  bool read_ahead = false;
};

// Changes to a pool that are done all or not at all. It begins when it is constructed, and waits for the one of another
// thread or process, and for read sections; unless `commit` is called it is taken back when it is destroyed. Within
// another of the same thread it is a part of that one: taken back alone, or complete with it. Belongs to the thread
// that made it; the task must not wait for other places meanwhile, since it holds the pool.
class transaction {
 public:
  // pre: the pool was opened for writing, and the thread is in no read section of it. Throws bad_file where others have
  // it for longer than the opener's patience. cost: a lock; and reading what other processes have changed of the
  // allocator since.
  explicit transaction(pool& of);
  // Takes back what it has not committed. cost: copying back each snapshot.
  ~transaction();
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  // All that it did stays. Throws out_of_memory where the disk has no room for the log, bad_file where the device
  // fails. cost: by promise: process, some 10 ns a range and object; batched, a copy of what has changed, by a system
  // call; machine, that and one wait for the device, or on DAX two fences, three where it made or destroyed objects.
  void commit();

  // Bytes that the caller is about to change; they must lie in the pool. What the transaction has made need not be
  // snapshotted. Throws as commit does. cost: a copy; with the machine's promise on DAX a fence.
  void snapshot(const void* at, std::size_t bytes);
  // The same of an object, which it returns. cost: as snapshot.
  template <class T>
  T& change(T* object) {
    snapshot(object, sizeof(T));
    return *object;
  }
  // The same of `count` objects, one behind another. cost: as snapshot.
  template <class T>
  T* change(T* first, std::size_t count) {
    snapshot(first, count * sizeof(T));
    return first;
  }
  // Snapshot, then assign. cost: as snapshot.
  template <class T, class Value>
  void set(T& field, Value&& value) {
    snapshot(&field, sizeof(T));
    field = std::forward<Value>(value);
  }

  // A new object in the pool, free again unless the transaction completes. Throws out_of_memory. cost: some 20 ns.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) {
    static_assert(detail::check_pool_object<T>());
    void* const at = allocate(sizeof(T), alignof(T));
    if constexpr (std::is_constructible_v<T, Arguments&&...>) {
      return new (at) T(std::forward<Arguments>(arguments)...);
    } else {
      return new (at) T{std::forward<Arguments>(arguments)...};
    }
  }
  // `count` objects, one behind another, each as T{} makes it. cost: that, and setting them.
  template <class T>
  [[nodiscard]] T* make_array(std::size_t count) {
    static_assert(detail::check_pool_object<T>());
    static_assert(std::is_nothrow_default_constructible_v<T>);
    if (count > SIZE_MAX / 2 / sizeof(T)) throw_too_many(count, sizeof(T));
    T* const first = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < count; ++i) new (first + i) T{};
    return first;
  }
  // Room for so many bytes, not set. alignment: a power of two up to 4096. cost: as make.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  // Gives an object, or an array by its first, back once the transaction completes; null: nothing. Throws bad_address
  // for what is not the start of a live block of the pool. cost: some 20 ns.
  void destroy(void* object);

  // A copy in the pool of all that `object` reaches, with its shape: shared objects once, cycles and all. The graph
  // lies in ordinary memory (or in any pool), is only read, and may hold what situ::clone copies but standard
  // containers and strings (not_supported); what is situ::transient is zero. Containers of situ in the copy are to be
  // read: what they grew into would be outside the pool. Each object, and each block of a container, is a block of the
  // pool's. Throws also what situ::clone does. cost: that, and some 25 ns an object; 8 bytes for each 8 meanwhile.
  template <class T>
  [[nodiscard]] detail::persisted<T>* persist(const T& object) {
    return static_cast<detail::persisted<T>*>(persist_graph(detail::root_of(&object)));
  }

  // Roots by name: at most 64, names of at most 31 bytes. null takes the root away. Throws bad_argument. cost: a look
  // through the names, and a snapshot.
  template <class T>
  void set_root(std::string_view name, T* object) {
    set_root_object(name, object, detail::pool_type_of<std::remove_const_t<T>>());
  }
  // Takes a root away, and leaves what it leads to: to `pool::collect`, unless another root reaches it. Whether there
  // was one. cost: as set_root.
  bool unlink(std::string_view name);

 private:
  friend class pool;
  [[nodiscard]] void* persist_graph(const detail::graph_root& root);
  void set_root_object(std::string_view name, const void* object, const detail::pool_type& type);
  [[noreturn]] static void throw_too_many(std::size_t count, std::size_t bytes);

  detail::open_pool* core_;
  std::size_t level_;
  bool is_complete_ = false;
};

// While it lives, its thread reads a pool in which no transaction runs, in any process: what it finds is whole, and
// stays. Sections run beside each other; within another one, or within a transaction of the same thread, one does
// nothing. Where a thread has several, the last is destroyed first. Keep them short: who writes waits for their end.
class read_section {
 public:
  // Waits for who is in a transaction. Throws bad_file where that takes longer than the opener's patience. cost: some
  // 10 ns; 1 ns within another one.
  explicit read_section(const pool& of);
  ~read_section();
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;

 private:
  detail::open_pool* core_;
  detail::pool_section section_;
};

// A pool that is open. Belongs to whoever holds it; closed when it is destroyed. cost: a pointer's.
class pool {
 public:
  // A new pool in a file that is not there yet. cost: some system calls.
  [[nodiscard]] static pool create(const std::string& path, const pool_options& options = {});
  // A pool that is there, at its own addresses; if something has them and it is opened for reading, elsewhere: then
  // `root` makes copies of the pages of all that it leads to, with the right pointers. Such a reader, and one that may
  // not write the file, reads beside nobody who writes. What its last writer left incomplete is taken back: in the
  // file, or where it is opened for reading in this process's copy of those pages. cost: 8 bytes read for each 16 KiB.
  [[nodiscard]] static pool open(const std::string& path, pool_access access = pool_access::write);
  // The same, with what else there is to say. cost: as that one; where the pool has to be moved, a walk through all
  // that its roots lead to, and with the promise of a machine writing it.
  [[nodiscard]] static pool open(const std::string& path, const pool_opening& how);
  // open for writing where there is a file, else create. cost: as those.
  [[nodiscard]] static pool open_or_create(const std::string& path, const pool_options& options = {});
  // Closes it. No transaction may be under way. cost: unmapping.
  ~pool();
  pool(pool&&) noexcept;
  pool& operator=(pool&&) noexcept;

  // The object of a root; null where there is none of this name. Throws bad_file where it was stored as another type,
  // or its type had another layout then; and as pool_opening::verify_roots says. cost: a look through the names; for a
  // type's first use, its description.
  template <class T>
  [[nodiscard]] T* root(std::string_view name) const {
    static_assert(std::is_trivially_destructible_v<T> || std::is_const_v<T>,
                  "situ: objects of this class were copied into the pool by `persist`, and have containers that are "
                  "not the pool's: ask for a root<const T>");
    return static_cast<T*>(root_object(name, detail::pool_type_of<std::remove_const_t<T>>()));
  }

  // Copies a graph into the pool and makes it a root, in a transaction of its own: until that is complete, what was
  // there before. cost: as transaction::persist, and a commit.
  template <class T>
  detail::persisted<T>* persist(std::string_view name, const T& object) {
    return transact([&](transaction& t) {
      detail::persisted<T>* const copy = t.persist(object);
      t.set_root(name, copy);
      return copy;
    });
  }

  // Runs body(transaction&) and commits; what it throws aborts the transaction, and is thrown on. cost: as
  // transaction's.
  template <class Body>
  auto transact(Body&& body) {
    transaction changes{*this};
    if constexpr (std::is_void_v<std::invoke_result_t<Body, transaction&>>) {
      std::invoke(std::forward<Body>(body), changes);
      changes.commit();
    } else {
      auto result = std::invoke(std::forward<Body>(body), changes);
      changes.commit();
      return result;
    }
  }

  // Of a batched pool: waits until the device has all transactions that are complete. Nothing where each has waited.
  // Throws bad_argument where the promise is a process's, bad_file where the device fails. cost: a wait for the device.
  void sync();
  // Runs body() in a read section, and returns what it returns. cost: as read_section's.
  template <class Body>
  decltype(auto) read(Body&& body) const {
    const read_section within{*this};
    return std::invoke(std::forward<Body>(body));
  }

  // Finds stores to its objects that no snapshot keeps, from now on, for tests: `commit` of a transaction that has made
  // some throws bad_argument, with each one's object and the line of the program (by its debug information), and all of
  // it is taken back, those stores, too. Where they are made outside of transactions, the next transaction's beginning
  // throws. System calls that are to write into its objects fail meanwhile. x86-64 (else not_supported); at most 16
  // pools. pre: open for writing, between two transactions. cost: two signals a store, some microseconds.
  void check_writes();

  // Brings a root that was stored as another type from version to version, by those steps that are left; none where it
  // is not there, or has the last type already. Each step is one transaction, or goes on where it was. Returns what was
  // done. Defined in migration.h, which says more. cost: the steps'.
  template <class... Old, class... New>
  std::vector<pool_migrated> migrate(std::string_view name, const pool_migration<Old, New>&... steps);

  // What it is. cost: reading its roots.
  [[nodiscard]] pool_info info() const;
  // Looks at every structure of its own, and at the objects of a pool that has checks of them; within a transaction
  // that has changed something not at these, and says so. Follows each word that may be a pointer, from the roots on:
  // counts leaked blocks, and notes lists that never end. cost: reading all objects twice; 3 bits for each block.
  [[nodiscard]] pool_findings check() const;
  // And at what all roots reach, which are objects of these types: what nothing reaches any more (a leak, or what
  // `collect` would free), and pointers that lead to no object, the first of which are notes; objects that have changed
  // are told of by their types. Throws bad_argument where a root has another type. cost: walking all objects; two bytes
  // for each block.
  template <class... Types>
    requires(sizeof...(Types) != 0)
  [[nodiscard]] pool_findings check() const {
    const detail::pool_type types[] = {detail::pool_type_of<std::remove_const_t<Types>>()...};
    return check_all(types);
  }
  // Frees what no root reaches, at most so many blocks; roots are objects of these types. It is a transaction: a crash
  // leaves all or none of it, and those of other threads wait. Pointers that the program itself holds do not count.
  // Throws bad_argument where a root has another type, and within a transaction. cost: walking all objects, two bytes
  // for each block, and destroying.
  template <class... Types>
  pool_collected collect(std::uint64_t most_blocks = ~std::uint64_t{0}) {
    static_assert(sizeof...(Types) != 0, "situ: collect<A, B, ...>() needs the types of all roots");
    const detail::pool_type types[] = {detail::pool_type_of<std::remove_const_t<Types>>()...};
    return collect_blocks(types, most_blocks);
  }
  // Calls visit(block, bytes) for each allocated block, by rising address. cost: as check.
  void for_each_block(const std::function<void(void*, std::size_t)>& visit) const;

 private:
  friend class transaction;
  friend class read_section;
  friend class detail::open_pool;
  explicit pool(std::unique_ptr<detail::open_pool> core) noexcept;
  [[nodiscard]] pool_findings check_all(std::span<const detail::pool_type> types) const;
  pool_collected collect_blocks(std::span<const detail::pool_type> types, std::uint64_t most_blocks);
  [[nodiscard]] void* root_object(std::string_view name, const detail::pool_type& type) const;
  std::vector<pool_migrated> migrate_root(std::string_view name, std::vector<detail::pool_migration_step> steps);

  std::unique_ptr<detail::open_pool> core_;
};

}  // namespace situ
