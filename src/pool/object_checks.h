// Checks of a pool's objects: sums of the contents of each block, as complete transactions have left them.
//
// A check is a CRC-32C that begins with the block's offset, so that bytes written to the wrong place do not pass. It is
// stored at the end of the block's run (format.h), 4 bytes for each block, and is valid while the block is live.
//
// Invariants
//   1. Between transactions, the check of each live block is correct for the bytes that its transactions have written.
//      It changes in the same commit: the undo log keeps the old check, as it keeps words of the allocator, and the new
//      one is persistent before the log ends; or it is in the same record of a redo log. Checks of new blocks are not
//      kept, since nothing reads them before the blocks are live.
//   2. A check is never recomputed for a block that was live: it changes by the difference of the block's bytes, whose
//      old values the log still has. So any other change leaves a check that stays wrong.
//   3. For blocks of up to most_verified_bytes the commit also computes the correct check, and is refused if the two
//      differ. So no transaction changes such a block after it was damaged: it stays as it was found, and a single
//      wrong bit can be repaired.
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

// Verifying longer blocks would take longer than the transaction; and up to here CRC-32C finds any 5 bits (crc32c.h).
inline constexpr std::uint64_t most_verified_bytes = 512;

// Returns the correct check of a block. base: address of the pool.
[[nodiscard]] object_check right_object_check(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                                              std::uint64_t salt) noexcept;
// Returns the difference between a block's check and the correct one; 0: the check is correct.
[[nodiscard]] object_check object_difference(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                                             std::uint64_t check_offset, std::uint64_t salt) noexcept;
// Returns the single bit of the block or its check whose change explains the difference, counted in the file from the
// lowest bit of its first byte; nullopt if several bits have changed.
[[nodiscard]] std::optional<std::uint64_t> find_changed_bit(std::uint64_t offset, std::uint64_t bytes,
                                                            std::uint64_t check_offset,
                                                            object_check difference) noexcept;
// Returns "byte OFFSET: ..., and what to do". what: the object, as "item of root 'head'".
[[nodiscard]] std::string tell_of_changed_object(std::uint64_t offset, std::uint64_t bytes, std::uint64_t check_offset,
                                                 object_check difference, std::string_view what);

// Updates the checks in the commits of a pool that has them.
class object_checks {
 public:
  object_checks(pool_file& file, pool_heap& heap, undo_log& log) noexcept : file_{file}, heap_{heap}, log_{log} {}

  // Computes the changes of checks, and keeps the old checks in the log. Throws bad_file if an object did not match its
  // check before the transaction, and as undo_log::append does.
  void plan();
  [[nodiscard]] bool is_needed() const noexcept { return !changes_.empty() || heap_.is_changed(); }
  // Changes the checks; call it when the log's entries are persistent. Checks of new blocks, which the log does not
  // keep, are flushed in place, or, with a redo log, added to the ranges to append.
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
    object_check by;  // xor
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
  // Calls visit(first, count) for each sequence of changes whose checks are adjacent.
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
  std::vector<change> changes_;  // by descending offset, so by ascending address of the check
  std::vector<std::byte> before_;
};

}  // namespace situ::detail
