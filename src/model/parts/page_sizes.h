// The sizes of the pages of a program's memory, by range: whole pages of 2 MiB or 1 GiB where the program has asked for
// them (MAP_HUGETLB, MADV_HUGEPAGE), pages of the machine's usual size elsewhere.
//
// Worked example: pages of 2 MiB are asked for from 1 MiB to 7 MiB: those from 2 to 4 and from 4 to 6 MiB are made. If the
// usual size is asked for again from 3 MiB to 4 MiB, the page from 4 to 6 MiB stays.
//
// Not thread-safe. cost: shift_at() is a comparison without such ranges, else logarithmic in them.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace situ::model {

class page_sizes {
 public:
  // Makes pages of 2^shift bytes of [begin, end), as far as whole ones lie in it; 0: pages of the usual size of all pages
  // that lie in it, whole or not.
  void set(std::uint64_t begin, std::uint64_t end, std::uint32_t shift) {
    const std::uint64_t size = std::uint64_t{1} << shift;
    if (shift > 0) {
      begin = (begin + size - 1) & ~(size - 1);
      end &= ~(size - 1);
    }
    if (begin >= end) return;
    cut_out(begin, end);
    if (shift > 0) ranges_.emplace(begin, range{end, shift});
  }

  // Returns whether no page has another size than the usual one.
  [[nodiscard]] bool are_usual() const noexcept { return ranges_.empty(); }
  // Returns the shift of the page of an address; 0: it has the usual size.
  [[nodiscard]] std::uint32_t shift_at(std::uint64_t address) const noexcept {
    if (ranges_.empty()) return 0;
    const auto behind = ranges_.upper_bound(address);
    if (behind == ranges_.begin()) return 0;
    const range& found = std::prev(behind)->second;
    return address < found.end ? found.shift : 0;
  }

 private:
  struct range {
    std::uint64_t end;
    std::uint32_t shift;
  };
  // Takes [begin, end) out of the ranges; a page of which a part is taken goes as a whole.
  void cut_out(std::uint64_t begin, std::uint64_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin()) --at;
    while (at != ranges_.end() && at->first < end) {
      const auto [first, old] = *at;
      const std::uint64_t size = std::uint64_t{1} << old.shift;
      const std::uint64_t from = begin & ~(size - 1);
      const std::uint64_t to = (end + size - 1) & ~(size - 1);
      if (old.end <= begin) {
        ++at;
        continue;
      }
      at = ranges_.erase(at);
      if (first < from) ranges_.emplace(first, range{from, old.shift});
      if (to < old.end) ranges_.emplace(to, range{old.end, old.shift});
    }
  }

  std::map<std::uint64_t, range> ranges_;  // by their begin; disjoint
};

}  // namespace situ::model
