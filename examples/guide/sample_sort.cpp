// sample_sort: numbers that lie at all places are sorted over them: afterwards no number of a place is less than one of
// the place before.
//
//   situ run -n 4 sample_sort [numbers of each place, 1000000]
#include <situ/situ.h>
#include <situ/spread/sort.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using numbers = std::vector<std::uint32_t>;

std::uint64_t sum_of(const numbers& some) { return std::accumulate(some.begin(), some.end(), std::uint64_t{0}); }

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  numbers mine(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000);
  std::generate(mine.begin(), mine.end(), std::mt19937{situ::here().index()});
  const std::uint64_t before = sum_of(mine);

  mine = situ::sort(std::move(mine));

  const std::uint64_t lost = situ::all_reduce(before - sum_of(mine), std::plus<>{});
  const bool all_right = situ::is_sorted(mine) && lost == 0;
  const std::size_t count = situ::all_reduce(mine.size(), std::plus<>{});
  if (situ::here().index() == 0) std::printf("%zu numbers are %s\n", count, all_right ? "sorted" : "in disorder");
}
