// A pool that is open: its file, log and allocator, and the transactions that tie them together.
//
// Invariants
//   1. One transaction at a time: who has the lock. Those within it are levels of it, on the same thread; each is a
//      place in the log and in the allocator's lists to go back to.
//   2. A commit keeps this order, each step where it stays before the next begins:
//        snapshots, before what they keep is changed (by `snapshot`)
//        -> the words of the allocator, kept in the log as well -> those words, what was changed, what is new
//        -> the log's end.
//      Until the last step every crash brings back what was before, after it nothing does.
//   3. `changed_` has each range that was snapshotted, also by levels that were taken back: what they have brought back
//      must stay, too.
//   4. After a fence has failed nothing more is written (`persistence::has_failed`): what the device has is known only
//   to who reads
//      it anew.
#pragma once

#include "pool/pool_file.h"
#include "pool/pool_heap.h"
#include "pool/relocation.h"
#include "pool/undo_log.h"

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

class open_pool {
 public:
  [[nodiscard]] static pool create(const std::string& path, const pool_options& options,
                                   const pool_overrides& overrides = {});
  [[nodiscard]] static pool open(const std::string& path, pool_access access, const pool_overrides& overrides = {});
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
  void set_root(std::size_t level, std::string_view name, const void* object, const pool_type& type);

  [[nodiscard]] void* root(std::string_view name, const pool_type& type);
  // The same under a fingerprint that is not its type's in this program (pool_migration.cpp).
  [[nodiscard]] void* root(std::string_view name, const pool_type& type, std::uint64_t fingerprint);
  void set_root(std::size_t level, std::string_view name, const void* object, std::uint64_t fingerprint,
                std::uint64_t bytes);
  [[nodiscard]] std::optional<pool_info::root> stored_root(std::string_view name);
  [[nodiscard]] pool_info info();
  [[nodiscard]] pool_findings check();
  void for_each_block(const std::function<void(void*, std::size_t)>& visit);

 private:
  struct level_start {
    undo_log::position log;
    pool_heap::mark heap;
  };
  struct changed_range {
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  void recover();
  void check_level(std::size_t level) const;
  void keep(std::uint64_t offset, std::uint64_t bytes);
  void publish();
  void flush_changes(pool_step step);
  void end_outermost() noexcept;
  [[nodiscard]] pool_root_record* roots() const noexcept { return file_.at<pool_root_record>(pool_roots_offset); }
  [[nodiscard]] pool_root_record* find_root(std::string_view name) const;
  void check_roots(pool_findings& into) const;
  void check_head(pool_findings& into) const;

  pool_file file_;
  pool_heap heap_{file_};
  undo_log log_{file_, heap_};
  relocation relocation_{file_, heap_};
  std::recursive_mutex lock_;
  std::vector<level_start> levels_;
  std::vector<changed_range> changed_;
  std::vector<heap_word> words_;
  std::uint64_t restored_ranges_ = 0;
  std::uint64_t restored_bytes_ = 0;
};

}  // namespace situ::detail
