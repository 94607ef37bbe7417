#include "pool/object_checks.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "pool/crc32c.h"

namespace situ::detail {

// --- one object ---

object_check right_object_check(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                                std::uint64_t salt) noexcept {
  const auto begun = static_cast<object_check>(add_to_check(salt, offset));
  return add_to_crc32c(begun, base + offset, bytes);
}

object_check object_difference(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                               std::uint64_t check_offset, std::uint64_t salt) noexcept {
  object_check check = 0;
  std::memcpy(&check, base + check_offset, sizeof check);
  return check ^ right_object_check(base, offset, bytes, salt);
}

std::optional<std::uint64_t> find_changed_bit(std::uint64_t offset, std::uint64_t bytes, std::uint64_t check_offset,
                                              object_check difference) noexcept {
  if (std::has_single_bit(difference)) return check_offset * 8 + static_cast<unsigned>(std::countr_zero(difference));
  const std::optional<std::uint64_t> bit = find_bit_by_crc32c(difference, bytes);
  return bit.has_value() ? std::optional{offset * 8 + *bit} : std::nullopt;
}

std::string tell_of_changed_object(std::uint64_t offset, std::uint64_t bytes, std::uint64_t check_offset,
                                   object_check difference, std::string_view what) {
  const auto bit = find_changed_bit(offset, bytes, check_offset, difference);
  const std::string how =
      bit.has_value() ? fmt::format("bit {} of byte {} was flipped", *bit % 8, *bit / 8) : "more than a bit is wrong";
  const char* const to_do = bit.has_value() && bytes <= most_verified_bytes
                                ? "`situ pool repair` puts it right, or bring the file back from a copy"
                                : "bring the file back from a copy, or make the object anew and destroy this one";
  return fmt::format("byte {}: {}, in a block of {} bytes, is not what transactions have left there: {}; {}", offset,
                     what, bytes, how, to_do);
}

// --- the changes of a commit ---

void object_checks::plan() {
  changes_.clear();
  find_changes();
  if (changes_.empty()) return;
  std::reverse(changes_.begin(), changes_.end());
  for (const change& each : changes_)
    if (each.bytes <= most_verified_bytes) verify(each);
  for_each_stretch([&](const change* first, std::size_t count) {
    log_.append(file_.offset_of(first->check), count * sizeof *first->check, pool_step::keep_checks);
  });
}

void object_checks::find_changes() {
  kept_.clear();
  log_.for_each_kept([&](std::uint64_t offset, std::uint64_t bytes, const std::byte* before) {
    if (offset >= file_.heap_offset()) kept_.push_back({offset, bytes, before, kept_.size()});
  });
  const auto is_before = [](const kept_range& a, const kept_range& b) { return a.offset < b.offset; };
  if (kept_.size() > 1) std::sort(kept_.begin(), kept_.end(), is_before);
  for (std::size_t i = 0; i < kept_.size();) {
    const std::size_t begin = i;
    std::uint64_t end = kept_[i].end();
    while (++i < kept_.size() && kept_[i].offset < end) end = std::max(end, kept_[i].end());
    if (i - begin == 1) {
      add_change(kept_[begin].offset, kept_[begin].bytes, kept_[begin].before);
    } else {
      add_cluster(kept_.data() + begin, kept_.data() + i, end);
    }
  }
}

// The ranges overlap, so a byte's contents before the transaction are those in the first range that keeps it.
void object_checks::add_cluster(kept_range* begin, kept_range* end, std::uint64_t end_offset) {
  const std::uint64_t offset = begin->offset;
  before_.resize(end_offset - offset);
  std::sort(begin, end, [](const kept_range& a, const kept_range& b) { return a.number > b.number; });
  for (const kept_range* each = begin; each != end; ++each)
    std::memcpy(before_.data() + (each->offset - offset), each->before, each->bytes);
  add_change(offset, before_.size(), before_.data());
}

// A range may have parts in several blocks, and parts outside of blocks.
void object_checks::add_change(std::uint64_t offset, std::uint64_t bytes, const std::byte* before) {
  while (bytes != 0) {
    pool_heap::place block{};
    const bool is_in_one = heap_.locate(offset, block);
    // Blocks begin at multiples of 16.
    const std::uint64_t next = is_in_one ? block.offset + block.bytes : (offset / 16 + 1) * 16;
    const std::uint64_t part = std::min(bytes, next - offset);
    if (is_in_one && heap_.stays_live(block)) {
      const object_check by = crc32c_change(before, file_.base() + offset, part, next - offset - part);
      if (!changes_.empty() && changes_.back().offset == block.offset) {
        changes_.back().by ^= by;
      } else {
        changes_.push_back({check_at(block), by, block.offset, block.bytes});
      }
    }
    offset += part;
    before += part;
    bytes -= part;
  }
}

void object_checks::verify(const change& each) const {
  const object_check difference =
      *each.check ^ each.by ^ right_object_check(file_.base(), each.offset, each.bytes, file_.salt());
  if (difference == 0) return;
  throw_error(errc::bad_file,
              fmt::format("pool {}, {}. The transaction that was to change it is taken back", file_.path(),
                          tell_of_changed_object(each.offset, each.bytes, file_.offset_of(each.check), difference,
                                                 "an object")));
}

void object_checks::store(std::vector<pool_range>& changed) {
  // Checks in the log are flushed with all other logged ranges; checks of new blocks are not in the log.
  for (const change& each : changes_) __atomic_store_n(each.check, *each.check ^ each.by, __ATOMIC_RELAXED);
  heap_.for_each_taken([&](const pool_heap::place& first, std::uint32_t count) {
    object_check* const end = check_at(first) + 1;
    for (std::uint32_t i = 0; i < count; ++i)
      end[-1 - static_cast<std::ptrdiff_t>(i)] =
          right_object_check(file_.base(), first.offset + i * first.bytes, first.bytes, file_.salt());
    bring(end - count, count, changed);
  });
}

void object_checks::bring(const object_check* at, std::size_t count, std::vector<pool_range>& changed) {
  if (file_.is_redo()) {
    changed.push_back({file_.offset_of(at), count * sizeof *at});
  } else {
    file_.persist().flush(at, count * sizeof *at, pool_step::checks);
  }
}

}  // namespace situ::detail
