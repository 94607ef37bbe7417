// A pool that is open: its file, log and allocator, and the transactions that tie them together.
//
// Invariants
//   1. One transaction at a time, of all processes: who has the lock (sharing.h). Those within it are levels of it, on
//      the same thread; each is a place in the log and in the allocator's lists to go back to.
//   2. A commit keeps this order, each step where it stays before the next begins:
//        snapshots, before what they keep is changed (by `snapshot`)
//        -> the words of the allocator, and checks of objects, kept in the log as well
//        -> those words and checks, what was changed, what is new
//        -> the log's end.
//      Until the last step every crash brings back what was before, after it nothing does.
//      With a redo log nothing is where it stays before the commit appends one record of it all; entries of the undo
//      log, in this process's own pages, serve aborts alone.
//   3. The log has each range that was changed, also by levels that were taken back: what they have brought back must
//      stay, too. `changed_` has what is flushed and was not logged.
//   4. After a fence, or the device at a write, has failed nothing more is written (`persistence::has_failed`): what
//      the device has is known only to who reads it anew.
//   5. Nothing is written by a transaction that has lost its lock (sharing.h, invariant 6): each of its steps that
//      writes looks first (`check_lock`), and it is taken back in this process's memory alone (`drop`).
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

  // The number of the new level, from 1.
  [[nodiscard]] std::size_t begin();
  // is_complete is set where the transaction can no longer be taken back, before anything is thrown.
  void commit(std::size_t level, bool& is_complete);
  void abort(std::size_t level) noexcept;

  // For the innermost level.
  void snapshot(std::size_t level, const void* at, std::size_t bytes);
  [[nodiscard]] void* allocate(std::size_t level, std::size_t bytes, std::size_t alignment);
  void destroy(std::size_t level, void* object);
  [[nodiscard]] bool unlink(std::size_t level, std::string_view name);
  // Copies a graph of ordinary memory; where its root lies.
  [[nodiscard]] void* persist(std::size_t level, graph_root root);
  void set_root(std::size_t level, std::string_view name, const void* object, const pool_type& type);

  void begin_reading(pool_section& within);
  void end_reading(pool_section& within) noexcept { sharing_.unlock_shared(within); }

  [[nodiscard]] void* root(std::string_view name, const pool_type& type);
  void sync();
  // The same under a fingerprint that is not its type's in this program (pool_migration.cpp).
  [[nodiscard]] void* root(std::string_view name, const pool_type& type, std::uint64_t fingerprint);
  void set_root(std::size_t level, std::string_view name, const void* object, std::uint64_t fingerprint,
                std::uint64_t bytes);
  [[nodiscard]] std::optional<pool_info::root> stored_root(std::string_view name);
  [[nodiscard]] pool_info info();
  [[nodiscard]] pool_findings check();
  [[nodiscard]] pool_findings check_structures();
  [[nodiscard]] pool_findings check_all(std::span<const pool_type> types);
  [[nodiscard]] pool_collected collect(std::span<const pool_type> types, std::uint64_t most_blocks);
  // From now on. pre: no transaction is under way.
  void check_writes();
  void for_each_block(const std::function<void(void*, std::size_t)>& visit);

 private:
  struct level_start {
    std::size_t log_entries = 0;
    pool_heap::mark heap;
  };

  void recover();
  void replay();
  // What other processes have done since (follow_others.cpp): for who has just locked it to write, to read.
  [[nodiscard]] bool is_behind() const noexcept {
    if (file_.is_redo()) return false;  // who writes it is alone
    return !log_.is_current() || sharing_.is_torn() || sharing_.changes() != seen_changes_ ||
           sharing_.chunks() != file_.chunks();
  }
  void catch_up();
  void read_again();
  void follow_as_reader();
  void restore_privately();
  // To where it lies (move.cpp), for who has it alone.
  void move(const std::vector<pool_type>& types);
  [[nodiscard]] std::vector<relocation::start> find_starts(const std::vector<pool_type>& types) const;
  std::uint64_t move_pointers(const std::vector<relocation::start>& starts, std::uint64_t to);
  // The last thing that a level does. is_kept: it was not taken back.
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
  // Where the innermost level began. The outermost one's lists are empty.
  [[nodiscard]] level_start innermost() const noexcept { return inner_.empty() ? level_start{} : inner_.back(); }
  [[nodiscard]] std::size_t begin_slowly();
  [[nodiscard]] std::size_t begin_rare();
  // A read section for as long as something of the pool's own is looked at.
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
  // Before something is written to the file.
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
  // As whoever has locked it, to write or to read, finds the heap; a growth of a transaction under way included.
  [[nodiscard]] std::uint32_t chunks_now() const noexcept {
    return level_count_ == 0 ? sharing_.chunks() : file_.chunks();
  }
  [[nodiscard]] std::uint64_t end_now() const noexcept { return file_.heap_offset() + chunks_now() * chunk_bytes; }
  [[nodiscard]] std::uint64_t free_bytes();
  [[nodiscard]] pool_root_record* roots() const noexcept { return file_.at<pool_root_record>(pool_roots_offset); }
  [[nodiscard]] pool_root_record* find_root(std::string_view name) const;
  void check_roots(pool_findings& into) const;
  // Without types, between transactions, where the structures are sound: leaks, and lists without an end.
  void look_by_words(pool_findings& into) const;
  // Of a pool whose structures are sound. reached: as which types; null where nobody knows.
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
  std::uint64_t seen_changes_ = 0;  // of the allocator's words; those of sharing_ while it is current
  std::size_t level_count_ = 0;
  std::vector<level_start> inner_;  // of all levels but the outermost
  std::vector<pool_range> changed_;
  std::vector<heap_word> words_;
  // For who reads beside others: pages in which this process has brought back what the log keeps, and which log.
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
