#include "pool/undo_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pool/pool_heap.h"

namespace situ::detail {
void undo_log::begin_anew() noexcept {
  entries_.clear();
  part_bytes_ = pool_area_offset - pool_log_offset;
  here_ = {pool_log_offset, pool_area_offset, 0};
}

void undo_log::read() {
  sequence_ = *file_.at<const std::uint64_t>(pool_sequence_offset);
  if (!is_sealed(sequence_, file_.salt()))
    throw_damaged(file_.path(), pool_sequence_offset, "the number of the log's transaction is damaged");
  begin_anew();
  here_.end = pool_map_offset;  // builds that did not share pools had no area behind it
  read_entries();
  if (entries_.empty()) begin_anew();
}

void undo_log::read_entries() {
  // Each part of the log is shorter than the file, so more bytes than that are parts that lead to each other.
  std::uint64_t left = file_.end();
  while (here_.end - here_.at >= sizeof(log_entry)) {
    const auto* const entry = file_.at<const log_entry>(here_.at);
    const bool is_undo = entry->kind == log_kind::undo;
    if (!is_undo && entry->kind != log_kind::link) return;
    if (is_undo && entry->bytes > here_.end - here_.at - sizeof(log_entry)) return;
    if (entry->check != entry->right_check(file_.salt(), sequence_, entry + 1)) return;
    const std::uint64_t length = sizeof(log_entry) + (is_undo ? pad_to_word(entry->bytes) : 0);
    const bool is_sound =
        length <= left && (is_undo ? may_be_logged(entry->offset, entry->bytes, file_.map_offset(), file_.end())
                                   : entry->offset % chunk_bytes == 0 && entry->offset >= file_.heap_offset() &&
                                         entry->offset <= file_.end() && entry->bytes <= file_.end() - entry->offset);
    if (!is_sound)
      throw_damaged(file_.path(), here_.at, "the log holds what no pool writes, although its check is right");
    left -= length;
    if (is_undo) {
      entries_.push_back(here_.at);
      here_.at += length;
    } else {
      here_.at = entry->offset;
      here_.end = entry->offset + entry->bytes;
    }
    here_.entries = entries_.size();
  }
}

void undo_log::write_entry(const log_entry& header, pool_step step) {
  auto* const entry = file_.at<log_entry>(here_.at);
  const std::uint64_t kept = header.kind == log_kind::undo ? pad_to_word(header.bytes) : 0;
  if (kept != 0) {
    auto* const copy = reinterpret_cast<std::byte*>(entry + 1);
    std::memset(copy + kept - 8, 0, 8);
    std::memcpy(copy, file_.base() + header.offset, header.bytes);
  }
  *entry = header;
  entry->check = entry->right_check(file_.salt(), sequence_, entry + 1);
  way_.flush(entry, sizeof(log_entry) + kept, step);
}

void undo_log::append(std::uint64_t offset, std::uint64_t bytes, pool_step step) {
  const std::uint64_t length = sizeof(log_entry) + pad_to_word(bytes);
  // Behind it there is always room for a link.
  if (length + sizeof(log_entry) > here_.end - here_.at) go_on(length + sizeof(log_entry), step);
  write_entry({0, offset, bytes, log_kind::undo}, step);
  entries_.push_back(here_.at);
  here_.at += length;
  here_.entries = entries_.size();
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
  write_entry({0, part, chunks * chunk_bytes, log_kind::link}, step);
  here_.at = part;
  here_.end = part + chunks * chunk_bytes;
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
  const std::uint64_t next = seal((sequence_ >> 16) % most + 1, file_.salt());
  auto* const word = file_.at<std::uint64_t>(pool_sequence_offset);
  // One store: the compiler may not make two of it.
  __atomic_store_n(word, next, __ATOMIC_RELEASE);
  sequence_ = next;
  way_.flush(word, sizeof *word, step);
  begin_anew();
}

}  // namespace situ::detail
