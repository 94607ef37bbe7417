// Sets of pages stored as runs, and the runs of a page list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>

namespace situ::rmem::detail {

// Calls what(first, end) for each run of pages that follow each other. pages: in ascending order.
template <class What>
void for_each_run(std::span<const std::uint64_t> pages, const What& what) {
  for (std::size_t begin = 0; begin < pages.size();) {
    std::size_t end = begin + 1;
    while (end < pages.size() && pages[end] == pages[end - 1] + 1) ++end;
    what(pages[begin], pages[begin] + (end - begin));
    begin = end;
  }
}

class page_set {
 public:
  // Calls what(first, end) for each run, in ascending order. `what` must not change the set.
  template <class What>
  void for_each_run(const What& what) const {
    for (const auto& [first, end] : runs_) what(first, end);
  }
  // As for_each_run, for the parts of this set in [first, end).
  template <class What>
  void for_each_run_in(std::uint64_t first, std::uint64_t end, const What& what) const {
    auto at = runs_.upper_bound(first);
    if (at != runs_.begin()) --at;
    for (; at != runs_.end() && at->first < end; ++at)
      if (at->second > first) what(std::max(first, at->first), std::min(end, at->second));
  }
  [[nodiscard]] bool has(std::uint64_t page) const {
    auto at = runs_.upper_bound(page);
    return at != runs_.begin() && page < (--at)->second;
  }
  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  void add(std::uint64_t first, std::uint64_t end) {
    if (first >= end) return;
    remove(first, end);
    count_ += end - first;
    auto next = runs_.lower_bound(first);
    if (next != runs_.end() && next->first == end) {
      end = next->second;
      next = runs_.erase(next);
    }
    if (next != runs_.begin() && std::prev(next)->second == first) {
      std::prev(next)->second = end;
      return;
    }
    runs_.emplace_hint(next, first, end);
  }
  void remove(std::uint64_t first, std::uint64_t end) {
    auto at = runs_.upper_bound(first);
    if (at != runs_.begin()) --at;
    while (at != runs_.end() && at->first < end) {
      const auto [its_first, its_end] = *at;
      if (its_end <= first) {
        ++at;
        continue;
      }
      at = runs_.erase(at);
      count_ -= std::min(end, its_end) - std::max(first, its_first);
      if (its_first < first) runs_.emplace(its_first, first);
      if (its_end > end) runs_.emplace(end, its_end);
    }
  }
  // Takes `pages` adjacent pages out of the first run that is long enough, and returns the first page; nullopt if no
  // run is.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t pages) {
    for (const auto& [first, end] : runs_) {
      if (end - first < pages) continue;
      const std::uint64_t found = first;
      remove(found, found + pages);
      return found;
    }
    return std::nullopt;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> runs_;  // first page, and the page behind the last
  std::uint64_t count_ = 0;
};

}  // namespace situ::rmem::detail
