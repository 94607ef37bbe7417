// An open pool: its file, log and allocator, and the transactions that connect them.
//
// Invariants
//   1. One transaction runs at a time, in all processes: that of the thread that holds the lock (sharing.h).
//      Transactions within it are its levels, on the same thread; each is a position in the log and in the allocator's
//      lists to return to.
//   2. A commit keeps this order; each step is persistent before the next begins:
//        snapshots, before the bytes that they keep are changed (by `snapshot`)
//        -> the words of the allocator, and checks of objects, kept in the log as well
//        -> those words and checks, the changed bytes, the new objects
//        -> the log's end.
//      A crash before the last step restores the previous state; a crash after it does not.
//      With a redo log nothing is persistent before the commit appends one record of all changes; entries of the undo
//      log, in this process's own pages, serve aborts alone.
//   3. The log has each changed range, also those of levels that were rolled back: their restored bytes must become
//      persistent, too. `changed_` has the ranges that are flushed and were not logged.
//   4. After a failed fence, or a device error at a write, nothing more is written (`persistence::has_failed`): only an
//      opener that reads the device anew knows its contents.
//   5. A transaction that has lost its lock (sharing.h, invariant 6) writes nothing: each of its writing steps checks
//      the lock first (`check_lock`), and it is rolled back in this process's memory alone (`drop`).
#pragma once

#include "pool/batched_sync.h"
#include "pool/forked_child.h"
#include "pool/object_checks.h"
#include "pool/pool_file.h"
#include "pool/pool_heap.h"
#include "pool/pool_range.h"
#include "pool/read_ahead.h"
#include "pool/redo_log.h"
#include "pool/relocation.h"
#include "pool/sharing.h"
#include "pool/undo_log.h"
#include "pool/write_check.h"

#include <situ/base/detail/assert.h>
#include <situ/pool/pool.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

class reachability;

class open_pool {
 public:
  [[nodiscard]] static pool create(const std::string& path, const pool_options& options,
                                   const pool_overrides& overrides = {});
  [[nodiscard]] static pool open(const std::string& path, const pool_opening& how,
                                 const pool_overrides& overrides = {});
  [[nodiscard]] static pool open(const std::string& path, pool_access access, const pool_overrides& overrides = {}) {
    return open(path, pool_opening{.access = access}, overrides);
  }
  explicit open_pool(pool_file file);
  ~open_pool();
  open_pool(const open_pool&) = delete;
  open_pool& operator=(const open_pool&) = delete;

  // Begins a level and returns its number, from 1.
  [[nodiscard]] std::size_t begin();
  // Commits a level. is_complete is set when the transaction can no longer be rolled back, before anything is thrown.
  void commit(std::size_t level, bool& is_complete);
  void abort(std::size_t level) noexcept;

  // The following functions are for the innermost level.
  void snapshot(std::size_t level, const void* at, std::size_t bytes);
  [[nodiscard]] void* allocate(std::size_t level, std::size_t bytes, std::size_t alignment);
  void destroy(std::size_t level, void* object);
  [[nodiscard]] bool unlink(std::size_t level, std::string_view name);
  // Copies a graph from ordinary memory, and returns the address of its root.
  [[nodiscard]] void* persist(std::size_t level, graph_root root);
  void set_root(std::size_t level, std::string_view name, const void* object, const pool_type& type);

  void begin_reading(pool_section& within);
  void end_reading(pool_section& within) noexcept { sharing_.unlock_shared(within); }

  [[nodiscard]] void* root(std::string_view name, const pool_type& type);
  void sync();
  // As root and set_root, for a fingerprint that is not that of the program's type (pool_migration.cpp).
  [[nodiscard]] void* root(std::string_view name, const pool_type& type, std::uint64_t fingerprint);
  void set_root(std::size_t level, std::string_view name, const void* object, std::uint64_t fingerprint,
                std::uint64_t bytes);
  [[nodiscard]] std::optional<pool_info::root> stored_root(std::string_view name);
  [[nodiscard]] pool_info info();
  [[nodiscard]] pool_findings check();
  [[nodiscard]] pool_findings check_structures();
  [[nodiscard]] pool_findings check_all(std::span<const pool_type> types);
  [[nodiscard]] pool_collected collect(std::span<const pool_type> types, std::uint64_t most_blocks);
  // Checks stores from now on. pre: no transaction is running.
  void check_writes();
  void for_each_block(const std::function<void(void*, std::size_t)>& visit);

 private:
  struct level_start {
    std::size_t log_entries = 0;
    pool_heap::mark heap;
  };

  void recover();
  void replay();
  // Follow the changes of other processes (follow_others.cpp). The caller has just locked the pool, to write or to
  // read.
  [[nodiscard]] bool is_behind() const noexcept {
    if (file_.is_redo()) return false;  // its writer is the only one
    return !log_.is_current() || sharing_.is_torn() || sharing_.changes() != seen_changes_ ||
           sharing_.chunks() != file_.chunks();
  }
  void catch_up();
  void read_again();
  void follow_as_reader();
  void restore_privately();
  // Moves the pool to the addresses at which it is mapped (move.cpp). This opener has it alone.
  void move(const std::vector<pool_type>& types);
  [[nodiscard]] std::vector<relocation::start> find_starts(const std::vector<pool_type>& types) const;
  std::uint64_t move_pointers(const std::vector<relocation::start>& starts, std::uint64_t to);
  // Ends a level, as its last step. is_kept: it was not rolled back.
  void leave(bool is_kept) noexcept {
    if (checks_ != nullptr) [[unlikely]]
      checks_->end_level(is_kept);
    if (--level_count_ == 0) {
      sharing_.set_chunks(file_.chunks());
      seen_changes_ = sharing_.changes();
      if (file_.persist().has_failed()) [[unlikely]]
        sharing_.fail();
    } else {
      inner_.pop_back();
    }
    sharing_.unlock();
  }
  // Returns the position at which the innermost level began. The outermost level begins with empty lists.
  [[nodiscard]] level_start innermost() const noexcept { return inner_.empty() ? level_start{} : inner_.back(); }
  [[nodiscard]] std::size_t begin_slowly();
  [[nodiscard]] std::size_t begin_rare();
  // A read section during an access to the pool's own structures.
  class looking {
   public:
    explicit looking(open_pool& at) : at_{at} { at.begin_reading(within_); }
    ~looking() { at_.end_reading(within_); }
    looking(const looking&) = delete;
    looking& operator=(const looking&) = delete;

   private:
    open_pool& at_;
    pool_section within_;
  };
  void reach_from_roots(std::span<const pool_type> types, reachability& into);
  void check_level(std::size_t level) const {
    SITU_ASSERT(1, level == level_count_, "use the innermost transaction until it has ended");
  }
  // Throws if the lock was lost. Called before each write to the file.
  void check_lock() {
    if (!sharing_.holds()) [[unlikely]]
      lose();
  }
  [[noreturn]] void lose();
  void drop() noexcept;
  void keep(std::uint64_t offset, std::uint64_t bytes) {
    log_.append(offset, bytes, pool_step::snapshot);
    log_.fence(pool_step::snapshot);
  }
  [[nodiscard]] bool is_kept(std::uint64_t offset, const void* at, std::size_t bytes) const noexcept;
  [[nodiscard]] void* allocate_checked(std::size_t bytes, std::size_t alignment);
  void snapshot_checked(const void* at, std::size_t bytes);
  void commit_checked(std::size_t level, bool& is_complete);
  void commit_all(std::size_t level, bool& is_complete);
  void publish();
  void publish_all();
  void complete_in_place(bool& is_complete);
  void complete_by_record(bool& is_complete);
  void checkpoint() noexcept;
  [[nodiscard]] bool has_device_failed() const noexcept {
    return file_.persist().has_failed() || sharing_.has_failed() || batched_.failure() != 0;
  }
  void check_device() {
    if (has_device_failed()) [[unlikely]]
      throw_device_failed();
  }
  [[noreturn]] void throw_device_failed();
  [[noreturn]] void throw_outside(const void* at, std::size_t bytes) const;
  void flush_changes(pool_step step);
  void end_outermost() noexcept {
    heap_.free_log_runs();
    changed_.clear();
  }
  // Returns the size of the heap as the holder of the lock sees it, including growth in the current transaction.
  [[nodiscard]] std::uint32_t chunks_now() const noexcept {
    return level_count_ == 0 ? sharing_.chunks() : file_.chunks();
  }
  [[nodiscard]] std::uint64_t end_now() const noexcept { return file_.heap_offset() + chunks_now() * chunk_bytes; }
  [[nodiscard]] std::uint64_t free_bytes();
  [[nodiscard]] pool_root_record* roots() const noexcept { return file_.at<pool_root_record>(pool_roots_offset); }
  [[nodiscard]] pool_root_record* find_root(std::string_view name) const;
  void check_roots(pool_findings& into) const;
  // Finds leaks and endless lists without types. Called between transactions, if the structures are sound.
  void look_by_words(pool_findings& into) const;
  // Verifies objects of a pool whose structures are sound. reached: their types; null if unknown.
  void check_objects(pool_findings& into, const reachability* reached) const;
  [[nodiscard]] bool is_changing_objects() const noexcept { return level_count_ != 0 && !log_.is_empty(); }
  void begin_verifying();
  void verify(const pool_root_record& root, const type_descriptor& type);
  void check_head(pool_findings& into) const;

  pool_file file_;
  pool_heap heap_{file_};
  persistence nowhere_;
  undo_log log_{file_, heap_, file_.is_redo() ? nowhere_ : file_.persist()};
  redo_log redo_{file_};
  object_checks object_checks_{file_, heap_, log_};
  batched_sync batched_;
  relocation relocation_{file_, heap_};
  pool_sharing sharing_;
  std::uint64_t seen_changes_ = 0;  // of the allocator's words; equals sharing_.changes() while this process is up to
                                    // date
  std::size_t level_count_ = 0;
  std::vector<level_start> inner_;  // of all levels except the outermost
  std::vector<pool_range> changed_;
  std::vector<heap_word> words_;
  // For a reader that shares the pool: pages in which this process has rolled back a log, and the number of that log.
  std::mutex private_lock_;
  std::atomic<std::uint64_t> private_sequence_{0};  // 0: none
  std::vector<pool_file::page_range> private_pages_;
  std::uint64_t restored_ranges_ = 0;
  std::uint64_t restored_bytes_ = 0;
  read_ahead ahead_;
  std::unique_ptr<write_check> checks_;  // null: stores are not checked
  bool verifies_roots_ = false;
  std::set<std::uint64_t> verified_;  // objects of roots, by offset; under private_lock_
  forked_child_guard in_children_{sharing_, file_.base(), file_.mapped_bytes(), file_.path()};
};

}  // namespace situ::detail
