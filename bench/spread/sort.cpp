// A sample sort: integers that lie at all places are sorted over them, beside std::sort of all at one.
//
// Each place gives a sample of its own; from all samples come the splitters, the same at each place. Each place writes
// its numbers, some thousand at a time, into the segments of the places that they belong to, and sorts what it has got.
#include <situ/situ.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "cases.h"

namespace situ_spread {
namespace {

using number = std::uint32_t;

std::vector<number> find_splitters(std::span<const number> mine) {
  const std::uint32_t places = situ::place_count();
  constexpr std::size_t samples_of_each = 4096;  // so that parts differ by some percent
  std::vector<number> sample;
  const std::size_t step = std::max<std::size_t>(1, mine.size() / samples_of_each);
  for (std::size_t i = 0; i < mine.size(); i += step) sample.push_back(mine[i]);
  std::vector<number> all;
  for (const std::vector<number>& each : situ::all_gather(sample)) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  std::vector<number> splitters;
  for (std::uint32_t p = 1; p < places; ++p) splitters.push_back(all[all.size() * p / places]);
  return splitters;
}

// Calls take(bucket, n) for each number. Without a branch that depends on it: one in two would be mispredicted.
template <class Take>
void split(std::span<const number> mine, std::span<const number> splitters, Take take) {
  for (const number n : mine) {
    std::uint32_t bucket = 0;
    for (const number splitter : splitters) bucket += n >= splitter ? 1 : 0;
    take(bucket, n);
  }
}

// Where a place gets its numbers from all. Whoever brings some takes as many of the elements, by adding to `taken`.
struct inbox {
  situ::ptr<number> numbers;
  situ::ptr<std::uint64_t> taken;
};

// Puts numbers into an inbox, many at a time.
class writer {
 public:
  explicit writer(inbox to) : to_{to} {}
  void write(number n) {
    some_[count_++] = n;
    if (count_ == some_.size()) flush();
  }
  void flush() {
    const std::uint64_t first = situ::atomic_fetch_add(to_.taken, count_);
    situ::put(to_.numbers + static_cast<std::ptrdiff_t>(first), some_.data(), std::exchange(count_, 0));
  }

 private:
  inbox to_;
  std::uint64_t count_ = 0;
  std::array<number, 4096> some_;
};

// Sorts `count` numbers over all places: this place's part of the result, in its segment. An inbox could take all
// numbers: addresses cost nothing.
std::pair<situ::ptr<number>, std::size_t> sort_by_all(std::span<const number> mine, std::size_t count) {
  const std::vector<number> splitters = find_splitters(mine);
  const inbox own{situ::allocate<number>(count), situ::allocate<std::uint64_t>(1)};
  *own.taken.local() = 0;
  std::vector<writer> writers;
  for (const inbox& each : situ::all_gather(own)) writers.emplace_back(each);
  split(mine, splitters, [&](std::uint32_t bucket, number n) { writers[bucket].write(n); });
  for (writer& each : writers) each.flush();
  situ::barrier();
  const auto size = static_cast<std::size_t>(*own.taken.local());
  std::sort(own.numbers.local(), own.numbers.local() + size);
  situ::deallocate(own.taken);
  return {own.numbers, size};
}

bool is_sorted_over_all(std::span<const number> part, std::size_t count, std::uint64_t sum) {
  const number first = part.empty() ? 0 : part.front(), last = part.empty() ? 0 : part.back();
  const std::vector<number> firsts = situ::all_gather(first), lasts = situ::all_gather(last);
  bool is_sorted = std::is_sorted(part.begin(), part.end());
  for (std::size_t p = 1; p < firsts.size(); ++p) is_sorted &= lasts[p - 1] <= firsts[p];
  const std::uint64_t mine = std::accumulate(part.begin(), part.end(), std::uint64_t{0});
  return situ::all_reduce(is_sorted, std::logical_and<>{}) && situ::all_reduce(part.size(), std::plus<>{}) == count &&
         situ::all_reduce(mine, std::plus<>{}) == sum;
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
    std::pair<situ::ptr<number>, std::size_t> part;
    all[1].ns.push_back(time_together([&] { part = sort_by_all(mine, share * places); }) / each);
    if (!is_sorted_over_all({part.first.local(), part.second}, share * places, sum)) {
      std::fprintf(stderr, "sort: the numbers are not sorted, or not the same\n");
      std::exit(1);
    }
    situ::deallocate(part.first);
    situ::deallocate(whole);
  }
  print("sort", all);
}

}  // namespace situ_spread
