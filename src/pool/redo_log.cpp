#include "pool/redo_log.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "os/host.h"

namespace situ::detail {
namespace {

// A log with less room is checkpointed: most records fit into this room.
constexpr std::uint64_t least_room = 8192;

void add(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

}  // namespace

// --- reading ---

void redo_log::read() {
  const std::uint64_t word = *file_.at<const std::uint64_t>(pool_sequence_offset);
  if (!is_sealed(word, file_.salt()))
    throw_damaged(file_.path(), pool_sequence_offset, "the number of the log's first record is damaged");
  next_ = word >> 16;
  while (read_record()) ++replayed_;
  // All records are in the file; it is unknown whether the device has them.
  appended_ = next_;
  synced_ = replayed_ == 0 ? next_ : 0;
}

bool redo_log::read_record() {
  redo_record head{};
  if (file_.map_offset() - here_ < sizeof head) return false;
  std::memcpy(&head, file_.base() + here_, sizeof head);
  if (head.sequence != next_ || head.bytes % 8 != 0) return false;
  const bool is_here = head.at == 0;
  if (is_here ? head.bytes > file_.map_offset() - here_ - sizeof head : head.at != spill_offset()) return false;
  const std::uint64_t from = is_here ? here_ + sizeof head : head.at;
  if (head.bytes > file_.length() - std::min(from, file_.length())) return false;
  record_.resize(head.bytes);
  if (!file_.read_bytes(from, record_.data(), head.bytes)) return false;
  if (head.check != head.right_check(file_.salt(), record_.data())) return false;
  apply(record_.data(), head.bytes, from);
  has_spilled_ = !is_here;
  here_ += sizeof head + (is_here ? head.bytes : 0);
  ++next_;
  return true;
}

void redo_log::apply(const std::byte* body, std::uint64_t bytes, std::uint64_t where) {
  for (std::uint64_t at = 0; at < bytes;) {
    redo_range range{};
    bool is_sound = bytes - at >= sizeof range;
    if (is_sound) {
      std::memcpy(&range, body + at, sizeof range);
      is_sound = range.bytes <= bytes - at - sizeof range &&
                 may_be_logged(range.offset, range.bytes, file_.map_offset(), file_.end());
    }
    if (!is_sound)
      throw_damaged(file_.path(), where + at, "the log holds what no pool writes, although its check is right");
    std::memcpy(file_.base() + range.offset, body + at + sizeof range, range.bytes);
    dirty_.push_back({range.offset, range.bytes});
    at += sizeof range + pad_to_word(range.bytes);
  }
}

// Clears the rest of the log if a word in it looks like the head of a later record. Numbers in objects may look like
// one, and then the rest is cleared needlessly.
void redo_log::forget_rest() {
  std::vector<std::byte> rest(file_.map_offset() - here_);
  if (!file_.read_bytes(here_, rest.data(), rest.size()))
    throw_damaged(file_.path(), here_, "the log cannot be read to its end");
  const std::uint64_t most_records = rest.size() / sizeof(redo_record) + 1;
  // Limits the bytes that are summed up: beyond it, a possible record is taken as a record without a check.
  std::uint64_t left_to_check = 16 * rest.size();
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at + sizeof(redo_record) <= rest.size(); at += 8) {
    redo_record head{};
    std::memcpy(&head, rest.data() + at, sizeof head);
    if (head.sequence < next_ || head.sequence - next_ > most_records || head.bytes % 8 != 0) continue;
    if (head.at == 0) {
      if (head.bytes > rest.size() - at - sizeof head) continue;
      const bool is_checked = head.bytes <= left_to_check;
      left_to_check -= std::min(left_to_check, head.bytes);
      if (is_checked && head.check != head.right_check(file_.salt(), rest.data() + at + sizeof head)) continue;
    } else if (head.at != spill_offset()) {
      continue;
    }
    end = at + sizeof head;
  }
  if (end == 0) return;
  std::fill_n(rest.begin(), end, std::byte{});
  file_.persist().write(here_, rest.data(), end, pool_step::forget);
  file_.persist().fence(pool_step::forget);
}

// --- appending ---

bool redo_log::is_full() const noexcept {
  return has_spilled_ || log_end() - std::min(here_, log_end()) < std::min(least_room, file_.used_log_bytes() / 4);
}

void redo_log::append(const std::vector<pool_range>& ranges) {
  record_.assign(sizeof(redo_record), std::byte{});
  for (const pool_range& each : ranges) {
    const redo_range head{each.offset, each.bytes};
    add(record_, &head, sizeof head);
    add(record_, file_.base() + each.offset, each.bytes);
    record_.resize(record_.size() + pad_to_word(each.bytes) - each.bytes);
  }
  const std::uint64_t body = record_.size() - sizeof(redo_record);
  // Noted before the record is written, so that nothing can fail after the write. Writing a range that has not changed
  // is harmless.
  dirty_.insert(dirty_.end(), ranges.begin(), ranges.end());
  // Each record is followed by room for the head of a record whose body is stored elsewhere.
  const bool fits = here_ + record_.size() + sizeof(redo_record) <= log_end();
  if (!fits) file_.lengthen(spill_offset() + body);
  write_record(fits ? 0 : spill_offset());
  if (file_.promise() == pool_promise::machine) file_.persist().fence(pool_step::append);
  has_spilled_ = !fits;
  here_ += fits ? record_.size() : sizeof(redo_record);
  ++next_;
  if (file_.promise() == pool_promise::machine) synced_.store(next_, std::memory_order_relaxed);
  appended_.store(next_, std::memory_order_release);
}

void redo_log::write_record(std::uint64_t at) {
  redo_record head{0, next_, record_.size() - sizeof head, at};
  head.check = head.right_check(file_.salt(), record_.data() + sizeof head);
  std::memcpy(record_.data(), &head, sizeof head);
  persistence& to = file_.persist();
  if (at == 0) return to.write(here_, record_.data(), record_.size(), pool_step::append);
  to.write(at, record_.data() + sizeof head, head.bytes, pool_step::append);
  to.write(here_, record_.data(), sizeof head, pool_step::append);
}

void redo_log::sync() {
  const std::lock_guard guard{device_};
  sync_within();
}

void redo_log::sync_within() {
  if (failure_ != 0)
    throw_error(errc::bad_file, fmt::format("pool {}: cannot be brought to its device: {}; look at it, then open the "
                                            "pool anew",
                                            file_.path(), std::strerror(failure_)));
  if (!has_unsynced()) return;
  file_.persist().fence(pool_step::append);
  synced_.store(next_, std::memory_order_relaxed);
}

int redo_log::sync_batched() noexcept {
  const std::lock_guard guard{device_};
  if (failure_ != 0 || !has_unsynced()) return failure_;
  const std::uint64_t upto = appended_.load(std::memory_order_acquire);
  failure_ = file_.persist().sync_file();
  if (failure_ == 0) synced_.store(upto, std::memory_order_relaxed);
  return failure_;
}

// --- checkpoints ---

void redo_log::checkpoint() {
  if (here_ == pool_log_offset) return;
  const std::lock_guard guard{device_};
  sync_within();
  merge_ranges(dirty_);
  persistence& to = file_.persist();
  for (const pool_range& each : dirty_)
    to.write(each.offset, file_.base() + each.offset, each.bytes, pool_step::checkpoint);
  to.fence(pool_step::checkpoint);
  auto* const word = file_.at<std::uint64_t>(pool_sequence_offset);
  *word = seal(next_, file_.salt());
  to.write(pool_sequence_offset, reinterpret_cast<const std::byte*>(word), sizeof *word, pool_step::checkpoint_end);
  to.fence(pool_step::checkpoint_end);
  here_ = pool_log_offset;
  if (has_spilled_) file_.cut();
  has_spilled_ = false;
  // Frees private pages whose contents are in the file again.
  for (const pool_range& each : dirty_) {
    const std::uint64_t from = each.offset / page_bytes * page_bytes;
    ::madvise(file_.base() + from, each.end() - from, MADV_DONTNEED);
  }
  dirty_.clear();
}

}  // namespace situ::detail
