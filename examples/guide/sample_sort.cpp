// sample_sort: numbers that lie at all places are sorted over them: afterwards no number of a place is less than one of
// the place before.
//
//   situ run -n 4 sample_sort [numbers of each place]
#include <situ/situ.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

namespace {

using number = std::uint32_t;

// What parts the places' ranges: the same at each place, from a sample of all.
std::vector<number> find_splitters(const std::vector<number>& sorted) {
  std::vector<number> sample;
  for (std::size_t i = 0; i < sorted.size(); i += std::max<std::size_t>(1, sorted.size() / 256))
    sample.push_back(sorted[i]);
  std::vector<number> all;
  for (const std::vector<number>& each : situ::all_gather(sample)) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  std::vector<number> splitters;
  for (std::uint32_t p = 1; p < situ::place_count(); ++p)
    splitters.push_back(all.empty() ? 0 : all[all.size() * p / situ::place_count()]);
  return splitters;
}

std::vector<number> sort_over_all(std::vector<number> mine) {
  std::sort(mine.begin(), mine.end());
  std::vector<std::vector<number>> to;  // for each place, what is its
  auto begin = mine.begin();
  for (const number splitter : find_splitters(mine)) {
    const auto end = std::lower_bound(begin, mine.end(), splitter);
    to.emplace_back(begin, end);
    begin = end;
  }
  to.emplace_back(begin, mine.end());

  std::vector<number> sorted;
  for (const std::vector<number>& part : situ::exchange(to)) {  // from each place, sorted
    const auto middle = static_cast<std::ptrdiff_t>(sorted.size());
    sorted.insert(sorted.end(), part.begin(), part.end());
    std::inplace_merge(sorted.begin(), sorted.begin() + middle, sorted.end());
  }
  return sorted;
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("sample_sort [numbers of each place, 1000000]");
    return 0;
  }
  std::vector<number> mine(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000);
  std::generate(mine.begin(), mine.end(), std::mt19937{situ::here().index()});
  const std::uint64_t before = std::accumulate(mine.begin(), mine.end(), std::uint64_t{0});

  const std::vector<number> sorted = sort_over_all(mine);

  const std::uint64_t after = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
  const number largest_before = situ::exclusive_scan(
      sorted.empty() ? 0 : sorted.back(), [](number x, number y) { return std::max(x, y); }, number{0});
  const std::uint64_t lost = situ::all_reduce(before - after, std::plus<>{});
  const bool is_right =
      lost == 0 && std::is_sorted(sorted.begin(), sorted.end()) && (sorted.empty() || largest_before <= sorted.front());
  const bool all_right = situ::all_reduce(is_right, std::logical_and<>{});
  const std::size_t count = situ::all_reduce(sorted.size(), std::plus<>{});
  if (situ::here().index() == 0) std::printf("%zu numbers are %s\n", count, all_right ? "sorted" : "in disorder");
}
