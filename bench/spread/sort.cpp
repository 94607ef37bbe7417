// situ::sort: integers that lie at all places are sorted over them, beside std::sort of all at one.
#include <situ/situ.h>
#include <situ/spread/sort.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "cases.h"

namespace situ_spread {
namespace {

using number = std::uint32_t;

std::uint64_t sum_of(const std::vector<number>& some) {
  return std::accumulate(some.begin(), some.end(), std::uint64_t{0});
}

}  // namespace

void measure_sort() {
  const std::size_t count = is_quick() ? 20000 : 20'000'000;
  const std::uint32_t places = situ::place_count();
  const std::size_t share = count / places;
  std::vector<samples> all{{"std_sort"}, {"situ"}};
  for (std::uint64_t sample = 0; sample < (is_quick() ? 1 : 3); ++sample) {
    const situ::ptr<number> whole = situ::allocate<number>(is_first() ? share * places : 0, {.huge_pages = true});
    std::vector<number> mine;
    std::uint64_t sum = 0;
    for (std::uint32_t p = 0; p < places; ++p) {
      std::uint64_t random = 0x9e3779b97f4a7c15 * (sample * places + p + 1);
      for (std::size_t i = 0; i < share; ++i) {
        const auto n = static_cast<number>(next_random(random) >> 16);
        sum += n;
        if (p == situ::here().index()) mine.push_back(n);
        if (is_first()) whole.local()[p * share + i] = n;
      }
    }
    const auto each = static_cast<double>(share * places);
    all[0].ns.push_back(time_alone([&] { std::sort(whole.local(), whole.local() + share * places); }) / each);
    all[1].ns.push_back(time_together([&] { mine = situ::sort(std::move(mine)); }) / each);
    const bool is_same = situ::all_reduce(sum_of(mine), std::plus<>{}) == sum &&
                         situ::all_reduce(mine.size(), std::plus<>{}) == share * places;
    if (!situ::is_sorted(mine) || !is_same) {
      std::fprintf(stderr, "sort: the numbers are not sorted, or not the same\n");
      std::exit(1);
    }
    situ::deallocate(whole);
  }
  print("sort", all);
}

}  // namespace situ_spread
