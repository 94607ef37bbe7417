// The undo log of a pool: the previous contents of ranges that a transaction writes, for rolling it back.
//
// Invariants
//   1. An entry is valid if its check is correct for the sequence word in the file. So one store to that word ends all
//      entries at once, and a torn entry is invalid.
//   2. An entry is persistent (fence) before a byte of its range is changed; the new contents of the range are
//      persistent before the sequence changes.
//   3. Entries are read from the front up to the first invalid one, and applied from the last to the first, so the
//      first contents of a range are restored last.
//   4. A nested transaction's abort restores what its entries keep, and leaves the entries: the restored bytes are not
//      persistent yet, so a crash may find the changed ones, and needs the entries. They equal the present contents of
//      their ranges, so they also serve later changes of these ranges as new entries would.
//   5. Further parts of the log are in chunks that no entry of the map names. These are free when the sequence has
//      changed, so nothing has to free them.
//
// Source: libpmemobj's undo log (ulog), ARIES for the order. Not thread-safe: one transaction at a time.
#pragma once

#include "pool/format.h"
#include "pool/plain_list.h"
#include "pool/pool_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace situ::detail {

class pool_heap;

class undo_log {
 public:
  // way: makes entries persistent. It is the file's, or one that does nothing if the file is mapped privately and the
  // log serves aborts alone.
  undo_log(pool_file& file, pool_heap& heap, persistence& way) noexcept : file_{file}, heap_{heap}, way_{way} {
    begin_anew();
  }

  // Reads the file's entries; there are none if it was closed, or if its last transaction was complete. Throws
  // bad_file.
  void read();
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }

  // Keeps a range; the entry is persistent after fence(). Throws out_of_memory.
  void append(std::uint64_t offset, std::uint64_t bytes, pool_step step) {
    const std::uint64_t length = sizeof(log_entry) + pad_to_word(bytes);
    // A link must always fit behind the entry.
    if (length + sizeof(log_entry) > end_ - at_) [[unlikely]]
      go_on(length + sizeof(log_entry), step);
    auto* const entry = file_.at<log_entry>(at_);
    copy_and_check(*entry, offset, bytes);
    way_.flush(entry, length, step);
    entries_.push_back(at_);
    at_ += length;
  }
  // Returns whether one of the last few entries, from number `from` on, keeps this range. If it misses one, the caller
  // keeps the range twice, which is also correct.
  [[nodiscard]] bool has(std::size_t from, std::uint64_t offset, std::uint64_t bytes) const noexcept {
    constexpr std::size_t looked_at = 8;
    std::size_t left = std::min(entries_.size() - from, looked_at);
    for (const std::uint64_t* each = entries_.end(); left != 0; --left) {
      const auto* const entry = file_.at<const log_entry>(*--each);
      const std::uint64_t within = offset - entry->offset;
      if (within <= entry->bytes && bytes <= entry->bytes - within) return true;
    }
    return false;
  }
  void fence(pool_step step) { way_.fence(step); }
  // Restores what all entries from number `from` on keep. Returns the number of bytes.
  std::uint64_t restore(std::size_t from) noexcept;
  // Ends all entries; the end is persistent after a fence. Without a fence, a crash before the next transaction's first
  // fence may only roll this transaction back.
  void end(pool_step step) {
    constexpr std::uint64_t most = (std::uint64_t{1} << 48) - 1;  // then numbers begin anew
    const std::uint64_t number = sequence();
    const std::uint64_t next = seal_with(seal_begun_, number == most ? 1 : number + 1);
    auto* const word = file_.at<std::uint64_t>(pool_sequence_offset);
    // A single store: the compiler must not split it.
    __atomic_store_n(word, next, __ATOMIC_RELEASE);
    set_sequence(next);
    way_.flush(word, sizeof *word, step);
    begin_anew();
  }
  // Ends all entries of a log that serves aborts alone.
  void begin_anew() noexcept {
    entries_.clear();
    part_bytes_ = pool_area_offset - pool_log_offset;
    at_ = pool_log_offset;
    end_ = pool_area_offset;
  }
  // Calls visit(offset, bytes) for the range of each entry, in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::uint64_t each : entries_) {
      const auto* const entry = file_.at<const log_entry>(each);
      visit(entry->offset, entry->bytes);
    }
  }
  // As for_each, with the kept bytes as third argument.
  template <class Visit>
  void for_each_kept(Visit visit) const {
    for (const std::uint64_t each : entries_) {
      const auto* const entry = file_.at<const log_entry>(each);
      visit(entry->offset, entry->bytes, reinterpret_cast<const std::byte*>(entry + 1));
    }
  }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_ >> 16; }
  // Returns whether no other process has ended a transaction since the last follow().
  [[nodiscard]] bool is_current() const noexcept {
    return sequence_ == *file_.at<const std::uint64_t>(pool_sequence_offset);
  }
  void follow() noexcept {
    set_sequence(*file_.at<const std::uint64_t>(pool_sequence_offset));
    begin_anew();
  }

 private:
  void read_entries();
  [[gnu::cold]] void go_on(std::uint64_t bytes, pool_step step);
  // In one pass, since each step of a check waits for the one before.
  void copy_and_check(log_entry& into, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::byte* from = file_.base() + offset;
    auto* to = reinterpret_cast<std::byte*>(&into + 1);
    into.offset = offset;
    into.bytes = bytes;
    into.kind = log_kind::undo;
    std::uint64_t check = log_entry{0, offset, bytes, log_kind::undo}.own_check(entry_check_);
    const auto keep = [&](std::size_t count) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, count);
      std::memcpy(to, &word, sizeof word);
      check = add_to_check(check, word);
      from += sizeof word;
      to += sizeof word;
    };
    for (std::uint64_t left = bytes / 8; left != 0; --left) keep(8);
    if (bytes % 8 != 0) keep(bytes % 8);
    into.check = check;
  }
  void set_sequence(std::uint64_t word) noexcept {
    sequence_ = word;
    entry_check_ = log_entry::begin_check(file_.salt(), word);
  }

  pool_file& file_;
  pool_heap& heap_;
  persistence& way_;
  std::uint64_t seal_begun_ = begin_seal(file_.salt());
  // Fields that each transaction changes share a cache line, so that threads that write in turns transfer a single
  // line.
  alignas(64) std::uint64_t sequence_ = 0;  // the word
  std::uint64_t entry_check_ = 0;           // the check's common part
  std::uint64_t at_ = 0;                    // position of the next entry in the file
  std::uint64_t end_ = 0;                   // end of the current part
  std::uint64_t part_bytes_ = 0;            // size of the part that was taken last
  plain_list<std::uint64_t> entries_;       // positions of undo entries
};

}  // namespace situ::detail
