// examples/guide/sample_sort.cpp with the foundation alone: what others need lies where a function at this place finds
// it.
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

thread_local std::vector<number> sample;
thread_local std::vector<std::vector<number>> parts;  // for this place, from each
thread_local std::vector<number> edges;

// What parts the places' ranges: the same at each place, from a sample of all.
std::vector<number> find_splitters(const std::vector<number>& sorted) {
  for (std::size_t i = 0; i < sorted.size(); i += std::max<std::size_t>(1, sorted.size() / 256))
    sample.push_back(sorted[i]);
  situ::barrier();
  std::vector<number> all;
  for (const situ::place p : situ::places()) {
    const std::vector<number> each = situ::at(p, [] { return sample; });
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<number> splitters;
  for (std::uint32_t p = 1; p < situ::place_count(); ++p)
    splitters.push_back(all.empty() ? 0 : all[all.size() * p / situ::place_count()]);
  return splitters;
}

std::vector<number> sort_over_all(std::vector<number> mine) {
  std::sort(mine.begin(), mine.end());
  parts.resize(situ::place_count());
  std::vector<number> splitters = find_splitters(mine);
  splitters.push_back(0);  // for the last place, whose part ends with the numbers
  situ::finish([&] {
    auto begin = mine.begin();
    for (const situ::place p : situ::places()) {
      const bool is_last = p.index() + 1 == situ::place_count();
      const auto end = is_last ? mine.end() : std::lower_bound(begin, mine.end(), splitters[p.index()]);
      situ::async_at(
          p, [](std::uint32_t from, std::vector<number> part) { parts[from] = std::move(part); }, situ::here().index(),
          std::vector<number>(begin, end));
      begin = end;
    }
  });
  situ::barrier();

  std::vector<number> sorted;
  for (const std::vector<number>& part : parts) {  // from each place, sorted
    const auto middle = static_cast<std::ptrdiff_t>(sorted.size());
    sorted.insert(sorted.end(), part.begin(), part.end());
    std::inplace_merge(sorted.begin(), sorted.begin() + middle, sorted.end());
  }
  return sorted;
}

// At place 0: of all places.
thread_local std::uint64_t difference = 0;
thread_local std::size_t count = 0;
thread_local bool all_right = true;

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("by_hand_sample_sort [numbers of each place, 1000000]");
    return 0;
  }
  std::vector<number> mine(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000);
  std::generate(mine.begin(), mine.end(), std::mt19937{situ::here().index()});
  const std::uint64_t before = std::accumulate(mine.begin(), mine.end(), std::uint64_t{0});

  const std::vector<number> sorted = sort_over_all(mine);

  const std::uint64_t after = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
  if (!sorted.empty()) edges = {sorted.front(), sorted.back()};
  situ::at(
      situ::place{0},
      [](std::uint64_t lost, std::size_t numbers, bool is_right) {
        difference += lost;
        count += numbers;
        all_right = all_right && is_right;
      },
      before - after, sorted.size(), std::is_sorted(sorted.begin(), sorted.end()));
  situ::barrier();
  if (situ::here().index() == 0) {
    std::vector<number> in_order;
    for (const situ::place p : situ::places()) {
      const std::vector<number> each = situ::at(p, [] { return edges; });
      in_order.insert(in_order.end(), each.begin(), each.end());
    }
    all_right = all_right && difference == 0 && std::is_sorted(in_order.begin(), in_order.end());
    std::printf("%zu numbers are %s\n", count, all_right ? "sorted" : "in disorder");
  }
}
