// examples/guide/sample_sort.cpp with the foundation alone: what others need lies where a function at this place finds
// it.
#include <situ/situ.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using numbers = std::vector<std::uint32_t>;

std::uint64_t sum_of(const numbers& some) { return std::accumulate(some.begin(), some.end(), std::uint64_t{0}); }

thread_local numbers sample;
thread_local std::vector<numbers> parts;  // for this place, from each
thread_local numbers edges;               // the first and the last of this place

// The numbers with which the places' parts begin, but for the first: the same at each place, from a sample of all.
numbers find_splitters(const numbers& sorted) {
  for (std::size_t i = 0; i < sorted.size(); i += std::max<std::size_t>(1, sorted.size() / 512))
    sample.push_back(sorted[i]);
  situ::barrier();
  numbers all;
  for (const situ::place p : situ::places()) {
    const numbers each = situ::at(p, [] { return sample; });
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  numbers splitters;
  for (std::size_t p = 1; p < situ::place_count(); ++p)
    splitters.push_back(all.empty() ? 0 : all[all.size() * p / situ::place_count()]);
  return splitters;
}

numbers sort_over_all(numbers mine) {
  std::sort(mine.begin(), mine.end());
  parts.resize(situ::place_count());
  const numbers splitters = find_splitters(mine);
  situ::finish([&] {
    auto begin = mine.begin();
    for (const situ::place p : situ::places()) {
      const bool is_last = p.index() == splitters.size();
      const auto end = is_last ? mine.end() : std::lower_bound(begin, mine.end(), splitters[p.index()]);
      situ::async_at(
          p, [](std::uint32_t from, numbers part) { parts[from] = std::move(part); }, situ::here().index(),
          numbers(begin, end));
      begin = end;
    }
  });
  situ::barrier();

  mine.clear();
  for (const numbers& part : parts) {  // from each place, sorted
    const auto middle = static_cast<std::ptrdiff_t>(mine.size());
    mine.insert(mine.end(), part.begin(), part.end());
    std::inplace_merge(mine.begin(), mine.begin() + middle, mine.end());
  }
  return mine;
}

// At place 0: of all places.
thread_local std::uint64_t lost = 0;
thread_local std::size_t count = 0;
thread_local bool all_right = true;

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  numbers mine(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000);
  std::generate(mine.begin(), mine.end(), std::mt19937{situ::here().index()});
  const std::uint64_t before = sum_of(mine);

  mine = sort_over_all(std::move(mine));

  if (!mine.empty()) edges = {mine.front(), mine.back()};
  situ::at(
      situ::place{0},
      [](std::uint64_t less, std::size_t more, bool is_right) {
        lost += less;
        count += more;
        all_right = all_right && is_right;
      },
      before - sum_of(mine), mine.size(), std::is_sorted(mine.begin(), mine.end()));
  situ::barrier();
  if (situ::here().index() == 0) {
    numbers in_order;
    for (const situ::place p : situ::places()) {
      const numbers each = situ::at(p, [] { return edges; });
      in_order.insert(in_order.end(), each.begin(), each.end());
    }
    all_right = all_right && lost == 0 && std::is_sorted(in_order.begin(), in_order.end());
    std::printf("%zu numbers are %s\n", count, all_right ? "sorted" : "in disorder");
  }
}
