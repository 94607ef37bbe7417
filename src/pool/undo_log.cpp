#include "pool/undo_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pool/pool_heap.h"

namespace situ::detail {
void undo_log::begin_anew() noexcept {
  entries_.clear();
  part_bytes_ = pool_area_offset - pool_log_offset;
  at_ = pool_log_offset;
  end_ = pool_area_offset;
}

void undo_log::read() {
  set_sequence(*file_.at<const std::uint64_t>(pool_sequence_offset));
  if (!is_sealed(sequence_, file_.salt()))
    throw_damaged(file_.path(), pool_sequence_offset, "the number of the log's transaction is damaged");
  begin_anew();
  end_ = pool_map_offset;  // builds that did not share pools had no area behind it
  read_entries();
  if (entries_.empty()) begin_anew();
}

void undo_log::read_entries() {
  // Each part of the log is shorter than the file, so more bytes than that are parts that lead to each other.
  std::uint64_t left = file_.end();
  while (end_ - at_ >= sizeof(log_entry)) {
    const auto* const entry = file_.at<const log_entry>(at_);
    const bool is_undo = entry->kind == log_kind::undo;
    if (!is_undo && entry->kind != log_kind::link) return;
    if (is_undo && entry->bytes > end_ - at_ - sizeof(log_entry)) return;
    if (entry->check != entry->right_check(file_.salt(), sequence_, entry + 1)) return;
    const std::uint64_t length = sizeof(log_entry) + (is_undo ? pad_to_word(entry->bytes) : 0);
    const bool is_sound =
        length <= left && (is_undo ? may_be_logged(entry->offset, entry->bytes, file_.map_offset(), file_.end())
                                   : entry->offset % chunk_bytes == 0 && entry->offset >= file_.heap_offset() &&
                                         entry->offset <= file_.end() && entry->bytes <= file_.end() - entry->offset);
    if (!is_sound) throw_damaged(file_.path(), at_, "the log holds what no pool writes, although its check is right");
    left -= length;
    if (is_undo) {
      entries_.push_back(at_);
      at_ += length;
    } else {
      at_ = entry->offset;
      end_ = entry->offset + entry->bytes;
    }
  }
}

// What it keeps is copied and added to its check in one pass: each step of a check waits for the one before.
void undo_log::append(std::uint64_t offset, std::uint64_t bytes, pool_step step) {
  const std::uint64_t length = sizeof(log_entry) + pad_to_word(bytes);
  // Behind it there is always room for a link.
  if (length + sizeof(log_entry) > end_ - at_) [[unlikely]]
    go_on(length + sizeof(log_entry), step);
  auto* const entry = file_.at<log_entry>(at_);
  log_entry made{0, offset, bytes, log_kind::undo};
  made.check = made.own_check(entry_check_);
  const std::byte* from = file_.base() + offset;
  auto* to = reinterpret_cast<std::byte*>(entry + 1);
  const auto keep = [&](std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, count);
    std::memcpy(to, &word, sizeof word);
    made.check = add_to_check(made.check, word);
    from += sizeof word;
    to += sizeof word;
  };
  for (std::uint64_t left = bytes / 8; left != 0; --left) keep(8);
  if (bytes % 8 != 0) keep(bytes % 8);
  *entry = made;
  way_.flush(entry, length, step);
  entries_.push_back(at_);
  at_ += length;
}

// What is not found is kept twice, which is right, too.
bool undo_log::has(const position& from, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  constexpr std::size_t looked_at = 8;
  const std::size_t end = std::max(from.entries, entries_.size() - std::min(entries_.size(), looked_at));
  for (std::size_t i = entries_.size(); i > end; --i) {
    const auto* const entry = file_.at<const log_entry>(entries_[i - 1]);
    if (offset >= entry->offset && offset - entry->offset <= entry->bytes &&
        bytes <= entry->bytes - (offset - entry->offset))
      return true;
  }
  return false;
}

// Parts get longer, so that a long transaction has few of them.
void undo_log::go_on(std::uint64_t bytes, pool_step step) {
  const std::uint64_t wanted = std::max(bytes, 2 * part_bytes_);
  const std::uint64_t chunks = (wanted + chunk_bytes - 1) / chunk_bytes;
  const std::uint32_t first = heap_.take_log_run(chunks);
  const std::uint64_t part = file_.heap_offset() + std::uint64_t{first} * chunk_bytes;
  auto* const entry = file_.at<log_entry>(at_);
  log_entry made{0, part, chunks * chunk_bytes, log_kind::link};
  made.check = made.own_check(entry_check_);
  *entry = made;
  way_.flush(entry, sizeof *entry, step);
  at_ = part;
  end_ = part + chunks * chunk_bytes;
  part_bytes_ = chunks * chunk_bytes;
}

std::uint64_t undo_log::restore(position from) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = entries_.size(); i > from.entries; --i) {
    const auto* const entry = file_.at<const log_entry>(entries_[i - 1]);
    std::memcpy(file_.base() + entry->offset, entry + 1, entry->bytes);
    bytes += entry->bytes;
  }
  return bytes;
}

void undo_log::end(pool_step step) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 48) - 1;  // then they begin anew
  const std::uint64_t number = sequence();
  const std::uint64_t next = seal(number == most ? 1 : number + 1, file_.salt());
  auto* const word = file_.at<std::uint64_t>(pool_sequence_offset);
  // One store: the compiler may not make two of it.
  __atomic_store_n(word, next, __ATOMIC_RELEASE);
  set_sequence(next);
  way_.flush(word, sizeof *word, step);
  begin_anew();
}

}  // namespace situ::detail
