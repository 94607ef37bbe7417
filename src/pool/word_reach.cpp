#include "pool/word_reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::detail {

word_reach::word_reach(const pool_file& file, const block_table& blocks)
    : file_{file},
      blocks_{blocks},
      bases_{file.home(), file.moving_to(), reinterpret_cast<std::uintptr_t>(file.base())},
      heap_begin_{file.heap_offset()},
      heap_bytes_{std::uint64_t{file.most_chunks()} * chunk_bytes},
      reached_(blocks.size()) {
  std::sort(bases_.begin(), bases_.end());
  bases_.erase(std::unique(bases_.begin(), bases_.end()), bases_.end());
}

template <class Visit>
void word_reach::for_each_target(const block& of, Visit visit) const {
  const std::byte* const from = file_.base() + of.offset;
  for (std::uint64_t at = 0; at + 8 <= of.bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    for (const std::uint64_t base : bases_) {
      if (word - base - heap_begin_ >= heap_bytes_) continue;
      if (const block target = blocks_.find(word - base); target.number != block_table::none) visit(target);
    }
  }
}

void word_reach::add_root(std::uint64_t offset) {
  const auto reach = [&](const block& target) {
    if (reached_[target.number]) return;
    reached_[target.number] = true;
    to_walk_.push_back(target);
  };
  if (const block root = blocks_.find(offset); root.number != block_table::none) reach(root);
  while (!to_walk_.empty()) {
    const block next = to_walk_.back();
    to_walk_.pop_back();
    for_each_target(next, reach);
  }
}

word_reach::block word_reach::link_of(const block& of) const noexcept {
  block link;
  bool is_one = true;
  for_each_target(of, [&](const block& target) {
    if (target.bytes != of.bytes) return;
    is_one = is_one && (link.number == block_table::none || link.number == target.number);
    link = target;
  });
  return is_one ? link : block{};
}

// Follows each block's links once: until they end, meet a block that was followed before, or close a ring.
std::vector<std::string> word_reach::find_endless_lists() const {
  enum color : std::uint8_t { unseen, on_path, done, in_ring };
  constexpr std::size_t most_told_of = 20;
  std::vector<bool> low(reached_.size());
  std::vector<bool> high(reached_.size());
  const auto color_of = [&](const block& of) {
    return static_cast<color>((low[of.number] ? 1 : 0) + (high[of.number] ? 2 : 0));
  };
  const auto paint = [&](const block& it, color as) {
    low[it.number] = (as & 1) != 0;
    high[it.number] = (as & 2) != 0;
  };
  std::vector<std::string> told;
  std::vector<std::uint64_t> told_of;  // entries of the reported rings
  const auto tell = [&](const block& entry, const block& from) {
    if (told.size() == most_told_of || std::find(told_of.begin(), told_of.end(), entry.number) != told_of.end()) return;
    told_of.push_back(entry.number);
    told.push_back(
        fmt::format("byte {}: a list of blocks of {} bytes comes back to its own middle here, where the block at byte "
                    "{} leads from outside of the ring: unless that is meant, a walk of the list does not end",
                    entry.offset, entry.bytes, from.offset));
  };
  blocks_.for_each_live([&](const block& start) {
    if (!has(start) || color_of(start) != unseen) return;
    block before;
    block at = start;
    while (at.number != block_table::none && color_of(at) == unseen) {
      paint(at, on_path);
      before = at;
      at = link_of(at);
    }
    if (at.number != block_table::none && color_of(at) == on_path) {
      // Finds the block before the ring, if there is one.
      before = {};
      for (block each = start; each.number != at.number; each = link_of(each)) before = each;
      for (block each = at; color_of(each) == on_path; each = link_of(each)) paint(each, in_ring);
    }
    if (at.number != block_table::none && color_of(at) == in_ring && before.number != block_table::none)
      tell(at, before);
    for (block each = start; each.number != block_table::none && color_of(each) == on_path; each = link_of(each))
      paint(each, done);
  });
  return told;
}

}  // namespace situ::detail
