// The checks of a pool's objects: what each block holds, as complete transactions have left it.
//
// A check is a CRC-32C, begun with where the block lies, so that what was written elsewhere is no object here. It lies
// at the end of its run (format.h), 4 bytes for a block. It means something while its block is live.
//
// Invariants
//   1. Between transactions the check of each live block is right for what the transactions that changed it have
//      written. It changes by the same commit: kept in the log before, as words of the allocator are, and where it
//      stays before the log ends; or in the same record of a redo log. Checks of new blocks are not kept, since nothing
//      reads them before the blocks are live.
//   2. A check is never made anew for a block that was live: it changes by what its bytes have changed by, which the
//   log
//      still has as they were. So whatever has changed otherwise leaves a check that is wrong, for good.
//   3. Of blocks up to most_verified_bytes the commit also computes the check that is right, and is refused where the
//      two differ. So such a block, once it has changed by itself, is changed by no transaction: it stays as it is
//      found, and a bit that is wrong can be put right.
#pragma once

#include "pool/format.h"
#include "pool/pool_file.h"
#include "pool/pool_heap.h"
#include "pool/pool_range.h"
#include "pool/undo_log.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

// For longer ones it would take longer than the transaction; and up to here CRC-32C finds any 5 bits (crc32c.h).
inline constexpr std::uint64_t most_verified_bytes = 512;

// The check of a block, by what it holds. base: of the pool.
[[nodiscard]] object_check right_object_check(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                                              std::uint64_t salt) noexcept;
// How a block's check differs from the right one; 0: it is right.
[[nodiscard]] object_check object_difference(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                                             std::uint64_t check_offset, std::uint64_t salt) noexcept;
// Where the one bit is with which a check would be right, that of the check included: in the file, counted from its
// first byte's lowest bit on; none: it takes several.
[[nodiscard]] std::optional<std::uint64_t> find_changed_bit(std::uint64_t offset, std::uint64_t bytes,
                                                            std::uint64_t check_offset,
                                                            object_check difference) noexcept;
// "byte OFFSET: ..., and what to do". what: the object, as "item of root 'head'".
[[nodiscard]] std::string tell_of_changed_object(std::uint64_t offset, std::uint64_t bytes, std::uint64_t check_offset,
                                                 object_check difference, std::string_view what);

// Of a pool that has checks, for its commits.
class object_checks {
 public:
  object_checks(pool_file& file, pool_heap& heap, undo_log& log) noexcept : file_{file}, heap_{heap}, log_{log} {}

  // The checks that change, kept in the log. Throws bad_file where an object was not as its check says before the
  // transaction, and as undo_log::append does.
  void plan();
  [[nodiscard]] bool is_needed() const noexcept { return !changes_.empty() || heap_.is_changed(); }
  // What the log keeps is where it stays: the checks change. Those of new blocks, which it does not keep, are flushed
  // in place, else they are ranges to append.
  void store(std::vector<pool_range>& changed);

 private:
  struct kept_range {
    std::uint64_t offset;
    std::uint64_t bytes;
    const std::byte* before;
    std::size_t number;
    [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes; }
  };
  struct change {
    object_check* check;
    object_check by;  // exclusive or
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  void find_changes();
  void add_cluster(kept_range* begin, kept_range* end, std::uint64_t end_offset);
  void add_change(std::uint64_t offset, std::uint64_t bytes, const std::byte* before);
  void verify(const change& each) const;
  [[nodiscard]] object_check* check_at(const pool_heap::place& block) const noexcept {
    return file_.at<object_check>(block.check_offset());
  }
  // Calls visit(first, count) for each stretch of changes whose checks lie one behind another.
  template <class Visit>
  void for_each_stretch(Visit visit) const {
    const std::size_t end = changes_.size();
    for (std::size_t i = 0; i < end;) {
      const std::size_t first = i;
      while (++i < end && changes_[i].check == changes_[i - 1].check + 1) {}
      visit(changes_.data() + first, i - first);
    }
  }
  void bring(const object_check* at, std::size_t count, std::vector<pool_range>& changed);

  pool_file& file_;
  pool_heap& heap_;
  undo_log& log_;
  std::vector<kept_range> kept_;
  std::vector<change> changes_;  // by falling offset, so by rising address of the check
  std::vector<std::byte> before_;
};

}  // namespace situ::detail
