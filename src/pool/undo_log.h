// The log of a pool: what lay where a transaction writes, so that it can be brought back.
//
// Invariants
//   1. An entry is valid while its check is right for the sequence word in the file. So one store to that word ends all
//      of them at once, and a torn entry is none.
//   2. An entry is where it stays (fence) before a byte of its range is changed; what the range holds afterwards is
//      where it stays before the sequence changes.
//   3. Entries are read from the front until one is not valid, and applied from the last to the first: what a range
//      held first is brought back last.
//   4. A nested transaction's abort brings back what its entries keep, and leaves them: what it has brought back is not
//      yet where it stays, so a crash may find what was there meanwhile, and needs them. They hold what their ranges
//      hold again, so they serve whoever changes these afterwards as entries of its own would.
//   5. A part that the log goes on in lies in chunks that no entry of the map names. They are free as soon as the
//      sequence has changed, so nobody has to give them back.
//
// Source: libpmemobj's undo log (ulog), ARIES for the order. Not thread-safe: one transaction at a time.
#pragma once

#include "pool/format.h"
#include "pool/pool_file.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::detail {

class pool_heap;

class undo_log {
 public:
  struct position {
    std::uint64_t at = 0;   // in the file, of the next entry
    std::uint64_t end = 0;  // of the part that it lies in
    std::size_t entries = 0;
  };

  // way: of its entries to where they stay; the file's, or one that does nothing, where the file is mapped privately
  // and the log serves aborts alone.
  undo_log(pool_file& file, pool_heap& heap, persistence& way) noexcept : file_{file}, heap_{heap}, way_{way} {
    begin_anew();
  }

  // Reads what the file holds; no entries where it was closed, or its last transaction was complete. Throws bad_file.
  void read();
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] position here() const noexcept { return {at_, end_, entries_.size()}; }

  // Keeps a range; it is not where it stays before fence(). Throws out_of_memory.
  void append(std::uint64_t offset, std::uint64_t bytes, pool_step step);
  // Whether one of the last few entries since a position keeps this range.
  [[nodiscard]] bool has(const position& from, std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void fence(pool_step step) { way_.fence(step); }
  // Brings back what all entries from a position on keep. Returns the bytes.
  std::uint64_t restore(position from) noexcept;
  // Ends all entries, once a fence has followed. Without one nothing is lost before the next transaction's first fence,
  // but that this one is complete.
  void end(pool_step step);
  // Ends all entries of a log that serves aborts alone.
  void begin_anew() noexcept;
  // Of all entries: what they keep, in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::uint64_t each : entries_) {
      const auto* const entry = file_.at<const log_entry>(each);
      visit(entry->offset, entry->bytes);
    }
  }
  // And the bytes themselves.
  template <class Visit>
  void for_each_kept(Visit visit) const {
    for (const std::uint64_t each : entries_) {
      const auto* const entry = file_.at<const log_entry>(each);
      visit(entry->offset, entry->bytes, reinterpret_cast<const std::byte*>(entry + 1));
    }
  }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_ >> 16; }
  // Whether no other process has ended a transaction since this one looked. follow() looks.
  [[nodiscard]] bool is_current() const noexcept {
    return sequence_ == *file_.at<const std::uint64_t>(pool_sequence_offset);
  }
  void follow() noexcept {
    set_sequence(*file_.at<const std::uint64_t>(pool_sequence_offset));
    begin_anew();
  }

 private:
  void read_entries();
  void go_on(std::uint64_t bytes, pool_step step);
  void set_sequence(std::uint64_t word) noexcept {
    sequence_ = word;
    entry_check_ = log_entry::begin_check(file_.salt(), word);
  }

  pool_file& file_;
  pool_heap& heap_;
  persistence& way_;
  std::uint64_t sequence_ = 0;          // the word
  std::uint64_t entry_check_ = 0;       // the same part of each entry's
  std::uint64_t at_ = 0;                // in the file, of the next entry
  std::uint64_t end_ = 0;               // of the part that it lies in
  std::uint64_t part_bytes_ = 0;        // of the last part that was taken
  std::vector<std::uint64_t> entries_;  // where undo entries lie
};

}  // namespace situ::detail
