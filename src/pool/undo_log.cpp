#include "pool/undo_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pool/pool_heap.h"

namespace situ::detail {

void undo_log::read() {
  set_sequence(*file_.at<const std::uint64_t>(pool_sequence_offset));
  if (!is_sealed(sequence_, file_.salt()))
    throw_damaged(file_.path(), pool_sequence_offset, "the number of the log's transaction is damaged");
  begin_anew();
  end_ = pool_map_offset;  // builds that did not share pools had a log up to here, and no area
  read_entries();
  if (entries_.empty()) begin_anew();
}

void undo_log::read_entries() {
  // Each part of the log is shorter than the file, so if all parts are longer together, they link to each other in a
  // ring.
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

// Continues the log in a new part. Parts get longer, so that a long transaction has few of them.
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

std::uint64_t undo_log::restore(std::size_t from) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = entries_.size(); i > from; --i) {
    const auto* const entry = file_.at<const log_entry>(entries_[i - 1]);
    std::memcpy(file_.base() + entry->offset, entry + 1, entry->bytes);
    bytes += entry->bytes;
  }
  return bytes;
}

}  // namespace situ::detail
