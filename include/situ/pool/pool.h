// Persistent pools: objects in a file that is used as memory. A pool is mapped at the addresses at which it was made,
// so its objects hold ordinary pointers to each other, and a program reaches them again from the same root, in this
// process or the next.
//
//   struct entry { long key; entry* next; };
//   situ::pool pool = situ::pool::open_or_create("index.pool");
//   pool.transact([&](situ::transaction& t) {
//     entry* const head = pool.root<entry>("head");            // null in a new pool
//     t.set_root("head", t.make<entry>(42, head));             // all of it, or nothing
//   });
//
// A program writes to a pool in a transaction, after a snapshot (`change`, `set`): if the body throws, or the process
// ends at any instruction, the pool keeps its previous contents. Objects that a transaction makes belong to the pool
// when it commits, and are freed if it does not. Objects are described classes (graph/describe.h) or data, without
// members that own memory outside the pool: no standard containers, no strings, no situ::ptr.
//
// Several processes share a pool by opening it. One transaction runs at a time in all of them; the others wait for its
// end. Read sections (`pool.read`) run concurrently, in any process and thread, and see whole transactions: no
// transaction begins or ends during a section. A thread that reads outside a section or a transaction may see a
// transaction's partial writes. If a process is killed in a transaction, the next one that locks the pool rolls that
// transaction back. (A pool with the promise of a machine, on a file that is not memory itself, has one process that
// writes, or several that read.)
//
// pool is movable, not copyable; transact, read, root and info may be called from any thread. After a fork, the child
// must open the pool anew: each call of its parent's pool throws bad_file there. Errors: bad_file for a file that is no
// sound pool, or that others use for longer than the opener's patience; out_of_memory for a full disk or pool;
// bad_argument. Messages name the file, the offset if there is one, and the remedy. Source: Rudoff, "Persistent Memory:
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

// The failures that a complete transaction survives; fixed when a pool is made.
enum class pool_promise : std::uint8_t {
  process,  // the end of its process, at any instruction. Nothing is flushed; if the machine goes down, the pool may be
            // torn: make it anew from its source then
  machine,  // also the end of the machine: each transaction waits for the device, or for the persistence domain
  batched,  // the end of its process at once, and that of the machine later: the pool waits for the device every
            // `sync_every`, for all transactions since. If the machine goes down, the last transactions may be
            // lost, each as a whole
};
// Access of an opener to a pool, and the other openers that it admits.
enum class pool_access : std::uint8_t {
  write,      // others may read and write
  read,       // others may read and write
  exclusive,  // writes; no other opener is admitted
};
// Options for making a pool.
struct pool_options {
  // Largest size of the heap, a multiple of 16 KiB. The pool reserves the addresses at once, and 1/2048 of the size in
  // holes of the file.
  std::uint64_t most_bytes = std::uint64_t{64} << 30;
  pool_promise promise = pool_promise::process;
  // For batched: how long a complete transaction may wait for the device, up to an hour. 0: until pool::sync.
  std::chrono::milliseconds sync_every{10};
  // Gives each object a check of its contents (CRC-32C, 4 bytes), which transactions keep up to date. A change by
  // anything else, by a device, in memory or by a stray store, is then found by `pool::check`, by `situ pool check`,
  // and by the next commit that changes an object of up to 512 bytes (bad_file). Builds of Situ that do not know checks
  // cannot open such a pool. docs/decisions/0025-object-checks.md says what it costs.
  bool object_checks = false;
  // Calls pool::check_writes for this opening.
  bool checked = false;
};

// Properties of a pool, and what opening it found.
struct pool_info {
  std::string path;
  std::uintptr_t base = 0;         // address of the pool in this process
  bool is_moved = false;           // the pool's own addresses were taken, so this process reads it at others
  bool is_shared = false;          // other processes may write the pool concurrently
  std::uint32_t version = 0;       // of the file format
  bool has_object_checks = false;  // as pool_options::object_checks
  std::uint64_t heap_bytes = 0;    // in use by objects, or free for them without growing
  std::uint64_t free_bytes = 0;    // of those, in whole free chunks of 16 KiB
  std::uint64_t most_bytes = 0;    // how far the heap may grow
  std::uint64_t transactions = 0;  // that have changed the pool, aborted ones with changes included
  pool_promise promise = pool_promise::process;
  std::string medium;     // "page cache", "DAX", "file system in memory"
  std::string primitive;  // how bytes are made persistent: "none", "fdatasync", "clwb", ...
  // Ranges and bytes that opening the pool rolled back, because its last writer left a transaction incomplete.
  std::uint64_t restored_ranges = 0;
  std::uint64_t restored_bytes = 0;
  // Complete transactions that opening the pool replayed from its log.
  std::uint64_t replayed_transactions = 0;
  // A root: its name, the position of its object, and the type that it was stored as.
  struct root {
    std::string name;
    std::uint64_t offset = 0;  // of the object in the file
    std::uint64_t bytes = 0;   // of the object's type
    std::uint64_t fingerprint = 0;
  };
  std::vector<root> roots;
};

// Result of a check of a pool.
struct pool_findings {
  std::uint64_t blocks = 0;  // allocated blocks
  std::uint64_t block_bytes = 0;
  std::uint64_t slabs = 0;
  std::uint64_t checked_blocks = 0;  // of those, blocks whose checks were verified
  // Blocks that no root reaches: they have leaked. The count is exact if the types of all roots were given. Without
  // types it counts blocks to which no word of a reached block leads, so more may have leaked. Not counted within a
  // transaction.
  std::uint64_t unreached_blocks = 0;
  std::uint64_t unreached_bytes = 0;
  std::uint64_t stray_pointers = 0;  // pointers that lead to no object, if the types of all roots were given
  std::vector<std::string> damage;   // each with its offset; empty: the pool is sound
  std::vector<std::string> notes;    // faults that the next opening for writing mends, and endless lists
};

// Result of a collection.
struct pool_collected {
  std::uint64_t kept_blocks = 0;  // reached from roots
  std::uint64_t kept_bytes = 0;
  std::uint64_t freed_blocks = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t left_blocks = 0;  // unreachable, but not freed yet
};

class pool;
template <class Old, class New>
struct pool_migration;  // migration.h
struct pool_migrated;

namespace detail {

class open_pool;
class pool_sharing;
struct pool_slot;

// A read section of a thread, linked to the thread's other sections.
struct pool_section {
  const pool_sharing* of = nullptr;  // null: within another section or a transaction
  pool_section* outer = nullptr;
  pool_slot* slot = nullptr;  // the slot that counts this section
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
  static_assert(
      std::is_trivially_destructible_v<T>,
      "situ: this type holds memory outside the pool (it has a destructor), which would be gone when the "
      "pool is opened again: use pointers to objects of the pool, and situ::pool_string, pool_vector or pool_map "
      "(situ/pool/...) in place of the standard containers");
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

// The type by which a program uses a copy in a pool: const for a class with a destructor, since its containers are not
// the pool's.
template <class T>
using persisted = std::conditional_t<std::is_trivially_destructible_v<T>, T, const T>;

}  // namespace detail

// Lists the types of roots, for pool_opening. cost: for a type's first use, its description.
template <class... Types>
[[nodiscard]] std::vector<detail::pool_type> pool_types() {
  return {detail::pool_type_of<Types>()...};
}

// Options for opening an existing pool.
struct pool_opening {
  pool_access access = pool_access::write;
  // Time to wait for a transaction or a read section of another thread or process before bad_file, which names its
  // holder, is thrown. After a second a warning names it (situ/base/log.h).
  std::chrono::nanoseconds patience = std::chrono::seconds{60};
  // Types of all roots: `pool_types<A, B>()`. With them, a pool whose addresses are taken is moved to others, in its
  // file, when it is opened for writing and has no other opener; without them it is refused. A move corrects the
  // pointers that roots reach through declared fields. After a crash during a move, the next such opening completes it.
  std::vector<detail::pool_type> types;
  // For a pool whose objects have checks (else bad_argument): `root` throws bad_file if an object that the root reaches
  // was changed by anything but transactions. `root` verifies each root once for this opening, at its first request,
  // but not within a transaction that has changed something. cost: a walk of all that the root leads to, and reading
  // it.
  bool verify_roots = false;
  // Reads all objects from the disk into memory in the background, in order of their offsets. It helps a program that
  // is about to use most of a pool that fits into memory and is not cached yet. cost: a thread, until all is read.
  bool read_ahead = false;
};

// Changes to a pool that take effect as a whole or not at all. A transaction begins when it is constructed, after it
// has waited for read sections and for transactions of other threads and processes; unless `commit` is called, its
// destructor rolls it back. Within another transaction of the same thread it is a level of that one: it can be rolled
// back alone, and is complete when the outer one is. It belongs to the thread that made it; the task must not wait for
// other places during a transaction, since it holds the pool.
class transaction {
 public:
  // pre: the pool was opened for writing, and the thread is in no read section of it. Throws bad_file if other threads
  // or processes have the pool for longer than the opener's patience. cost: a lock, and reading the allocator words
  // that other processes have changed since.
  explicit transaction(pool& of);
  // Rolls back changes that are not committed. cost: copying back each snapshot.
  ~transaction();
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  // Makes all changes of the transaction permanent. Throws out_of_memory if the disk has no room for the log, bad_file
  // if the device fails. cost: by promise: process, some 10 ns a range and object; batched, a copy of the changed
  // bytes, by a system call; machine, that and one wait for the device, or on DAX two fences, three if it made or
  // destroyed objects.
  void commit();

  // Keeps bytes that the caller is about to change. Objects that the transaction has made need no snapshot.
  // Throws bad_address for bytes outside the pool's objects, else as commit does. cost: a copy; with the machine's
  // promise on DAX a fence.
  void snapshot(const void* at, std::size_t bytes);
  // Takes a snapshot of an object, and returns the object. cost: as snapshot.
  template <class T>
  T& change(T* object) {
    snapshot(object, sizeof(T));
    return *object;
  }
  // Takes a snapshot of `count` consecutive objects. cost: as snapshot.
  template <class T>
  T* change(T* first, std::size_t count) {
    snapshot(first, count * sizeof(T));
    return first;
  }
  // Takes a snapshot of a field, then assigns to it. cost: as snapshot.
  template <class T, class Value>
  void set(T& field, Value&& value) {
    snapshot(&field, sizeof(T));
    field = std::forward<Value>(value);
  }

  // Makes an object in the pool; it is freed unless the transaction completes. Throws out_of_memory. cost: some 20 ns.
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
  // Makes `count` consecutive objects, each as T{} makes it. cost: as make, and setting them.
  template <class T>
  [[nodiscard]] T* make_array(std::size_t count) {
    static_assert(detail::check_pool_object<T>());
    static_assert(std::is_nothrow_default_constructible_v<T>);
    if (count > SIZE_MAX / 2 / sizeof(T)) throw_too_many(count, sizeof(T));
    T* const first = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < count; ++i) new (first + i) T{};
    return first;
  }
  // Allocates uninitialised bytes. alignment: a power of two up to 4096. cost: as make.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  // Frees an object, or an array by its first element, when the transaction completes; null is ignored.
  // Throws bad_address for a pointer that is not the start of a live block of the pool. cost: some 20 ns.
  void destroy(void* object);

  // Copies all that `object` reaches into the pool, with its shape: shared objects once, cycles included. The graph is
  // in ordinary memory (or in any pool), is only read, and may hold what situ::clone copies except standard containers
  // and strings (not_supported); situ::transient members are zero in the copy. Containers of situ in the copy are
  // read-only: their new blocks would be outside the pool. Each object, and each block of a container, becomes a block
  // of the pool. Throws also what situ::clone does. cost: that of situ::clone, and some 25 ns an object; during the
  // call 8 bytes of memory for each 8 bytes of the graph.
  template <class T>
  [[nodiscard]] detail::persisted<T>* persist(const T& object) {
    return static_cast<detail::persisted<T>*>(persist_graph(detail::root_of(&object)));
  }

  // Stores a root by name: at most 64 roots, names of at most 31 bytes. null removes the root. Throws bad_argument, and
  // bad_address if `object` is not the start of an object of the pool. cost: a search of the names, and a snapshot.
  template <class T>
  void set_root(std::string_view name, T* object) {
    set_root_object(name, object, detail::pool_type_of<std::remove_const_t<T>>());
  }
  // Removes a root but not its objects: `pool::collect` frees those that no other root reaches. Returns whether the
  // root existed. cost: as set_root.
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

// A section in which its thread reads a pool while no transaction runs, in any process: the objects are consistent and
// do not change. Sections run concurrently. Within another section or a transaction of the same thread a section does
// nothing. If a thread has several sections, destroy the last one first. Keep sections short: writers wait for their
// end.
class read_section {
 public:
  // Waits for a running transaction. Throws bad_file if that takes longer than the opener's patience. cost: some 10 ns;
  // 1 ns within another section.
  explicit read_section(const pool& of);
  ~read_section();
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;

 private:
  detail::open_pool* core_;
  detail::pool_section section_;
};

// An open pool. It belongs to the holder of this object; the destructor closes it. cost: a pointer's.
class pool {
 public:
  // Makes a new pool in a file that does not exist yet. cost: some system calls.
  [[nodiscard]] static pool create(const std::string& path, const pool_options& options = {});
  // Opens an existing pool at its own addresses. If they are taken and the pool is opened for reading, it is mapped at
  // others, and `root` makes private copies of the pages that the root leads to, with corrected pointers. Neither a
  // relocated reader nor one without write permission can be open at the same time as a writer. An incomplete
  // transaction of the last writer is rolled back: in the file, or, if the pool is opened for reading, in private
  // copies of the changed pages. cost: 8 bytes read for each 16 KiB.
  [[nodiscard]] static pool open(const std::string& path, pool_access access = pool_access::write);
  // Opens an existing pool as `how` says. cost: as the other `open`; if the pool has to be moved, a walk through all
  // that its roots lead to, and with the promise of a machine writing it.
  [[nodiscard]] static pool open(const std::string& path, const pool_opening& how);
  // Opens the pool for writing if the file exists, else creates it. cost: as those.
  [[nodiscard]] static pool open_or_create(const std::string& path, const pool_options& options = {});
  // Closes the pool. No transaction may be running. cost: unmapping.
  ~pool();
  pool(pool&&) noexcept;
  pool& operator=(pool&&) noexcept;

  // Returns the object of a root; null if no root has this name. Throws bad_file if the root was stored as another
  // type, or if its type had another layout then, and as pool_opening::verify_roots says. cost: a search of the names;
  // for a type's first use, its description.
  template <class T>
  [[nodiscard]] T* root(std::string_view name) const {
    static_assert(std::is_trivially_destructible_v<T> || std::is_const_v<T>,
                  "situ: objects of this class were copied into the pool by `persist`, and have containers that are "
                  "not the pool's: ask for a root<const T>");
    return static_cast<T*>(root_object(name, detail::pool_type_of<std::remove_const_t<T>>()));
  }

  // Copies a graph into the pool and makes it a root, in a transaction of its own: until that is complete, the root
  // leads to the previous object. cost: as transaction::persist, and a commit.
  template <class T>
  detail::persisted<T>* persist(std::string_view name, const T& object) {
    return transact([&](transaction& t) {
      detail::persisted<T>* const copy = t.persist(object);
      t.set_root(name, copy);
      return copy;
    });
  }

  // Runs body(transaction&) and commits. An exception of the body aborts the transaction and is rethrown. cost: as
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

  // For a batched pool: waits until the device has all complete transactions. Does nothing if each transaction waits
  // itself. Throws bad_argument if the promise is that of a process, bad_file if the device fails. cost: a wait for the
  // device.
  void sync();
  // Runs body() in a read section, and returns its result. cost: as read_section's.
  template <class Body>
  decltype(auto) read(Body&& body) const {
    const read_section within{*this};
    return std::invoke(std::forward<Body>(body));
  }

  // Finds stores to the pool's objects that no snapshot covers, from now on, for tests. `commit` of a transaction with
  // such stores throws bad_argument, which names the object of each store and its line of the program (by its debug
  // information); the whole transaction is rolled back, those stores included. If a store is made outside of
  // transactions, the beginning of the next transaction throws. System calls that write into its objects fail while
  // stores are checked. x86-64 (else not_supported); at most 16 pools. pre: open for writing, between two transactions.
  // cost: two signals a store, some microseconds.
  void check_writes();

  // Migrates a root that was stored as another type, version by version, by the steps that are left. Does nothing if
  // the root does not exist or already has the last type. Each step is one transaction, or resumes where it stopped.
  // Returns the steps that were done. Defined in migration.h, which says more. cost: the steps'.
  template <class... Old, class... New>
  std::vector<pool_migrated> migrate(std::string_view name, const pool_migration<Old, New>&... steps);

  // Returns the properties of the pool. cost: reading its roots.
  [[nodiscard]] pool_info info() const;
  // Checks all structures of the pool, and the objects of a pool that has object checks; within a transaction that has
  // changed something it leaves out the objects, and notes that. Follows each word that may be a pointer, from the
  // roots on: counts leaked blocks, and notes lists that never end. cost: reading all objects twice; 3 bits for each
  // block.
  [[nodiscard]] pool_findings check() const;
  // Also walks everything reachable from the roots, whose types are `Types`. Reports leaks (blocks that `collect` would
  // free), dangling pointers (the first few as notes), and changed objects by type. Throws bad_argument if a root has
  // another type, or within a transaction. cost: walking all objects; two bytes for each block.
  template <class... Types>
    requires(sizeof...(Types) != 0)
  [[nodiscard]] pool_findings check() const {
    const detail::pool_type types[] = {detail::pool_type_of<std::remove_const_t<Types>>()...};
    return check_all(types);
  }
  // Frees at most `most_blocks` blocks that no root reaches; `Types` are the types of all roots. It is one transaction:
  // a crash leaves all or none of it, and transactions of other threads wait. Pointers in the program's own memory do
  // not count. Throws bad_argument if a root has another type, or within a transaction. cost: walking all objects, two
  // bytes for each block, and destroying.
  template <class... Types>
  pool_collected collect(std::uint64_t most_blocks = ~std::uint64_t{0}) {
    static_assert(sizeof...(Types) != 0, "situ: collect<A, B, ...>() needs the types of all roots");
    const detail::pool_type types[] = {detail::pool_type_of<std::remove_const_t<Types>>()...};
    return collect_blocks(types, most_blocks);
  }
  // Calls visit(block, bytes) for each allocated block, by ascending address. cost: as check.
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
