// The homes of pages: ranges of addresses whose lines only the caches of one tile, the home, may hold. All other
// addresses are user-managed: each tile caches them, and programs keep the copies coherent.
//
// Worked example: 0 to 128 KiB are homed at tile 3, then 64 to 96 KiB at tile 5. Tile 3 keeps 0 to 64 KiB and 96 to
// 128 KiB.
//
// Not thread-safe. cost: logarithmic in the ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace situ::model {

class page_homes {
 public:
  static constexpr std::uint16_t nobody = 0xffff;  // no tile: user-managed

  struct range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint16_t tile = nobody;
  };

  // Homes [begin, end) at a tile, or at nobody.
  void set(std::uint64_t begin, std::uint64_t end, std::uint16_t tile) {
    cut_at(begin);
    cut_at(end);
    homes_.erase(homes_.lower_bound(begin), homes_.lower_bound(end));
    if (tile == nobody) return;
    auto at = homes_.emplace(begin, held{end, tile}).first;
    if (const auto next = std::next(at); next != homes_.end() && next->first == end && next->second.tile == tile) {
      at->second.end = next->second.end;
      homes_.erase(next);
    }
    if (at == homes_.begin()) return;
    if (const auto last = std::prev(at); last->second.end == begin && last->second.tile == tile) {
      last->second.end = at->second.end;
      homes_.erase(at);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return homes_.empty(); }
  // Returns the largest range around an address that has one home, or that has none.
  [[nodiscard]] range at(std::uint64_t address) const noexcept {
    const auto behind = homes_.upper_bound(address);
    range found{.begin = 0, .end = behind == homes_.end() ? ~std::uint64_t{0} : behind->first};
    if (behind == homes_.begin()) return found;
    const auto& [begin, its] = *std::prev(behind);
    if (address < its.end) return {begin, its.end, its.tile};
    found.begin = its.end;
    return found;
  }
  // Calls f(range) for each part of [begin, end) that has a home. f must not change the homes.
  template <class F>
  void for_each(std::uint64_t begin, std::uint64_t end, F&& f) const {
    auto each = homes_.upper_bound(begin);
    if (each != homes_.begin() && std::prev(each)->second.end > begin) --each;
    for (; each != homes_.end() && each->first < end; ++each)
      f(range{std::max(begin, each->first), std::min(end, each->second.end), each->second.tile});
  }

 private:
  struct held {
    std::uint64_t end;
    std::uint16_t tile;
  };
  // Divides the range that holds an address in two there.
  void cut_at(std::uint64_t address) {
    const auto behind = homes_.lower_bound(address);
    if (behind == homes_.begin()) return;
    const auto holds = std::prev(behind);
    if (holds->second.end <= address) return;
    homes_.emplace_hint(behind, address, holds->second);
    holds->second.end = address;
  }

  std::map<std::uint64_t, held> homes_;  // by their begin; disjoint; neighbours have different tiles
};

}  // namespace situ::model
