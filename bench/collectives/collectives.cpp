// Collectives beside the same by hand. Two places with a processor each:
//
//   situ run -n 2 --bind core situ_bench_collectives
//
// Prints a row a case: medians of Situ and of its raw counterpart in microseconds, and the median of the ratios of
// samples that were taken in turn. By hand: each place copies its numbers into its segment and says so by a word; when
// both have, each adds what it reads in the other's, half of them each and the sums exchanged where there are many; in
// blocks that stay in the second-level cache.
#include <situ/situ.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

constexpr std::size_t most = (8 << 20) / sizeof(double);
constexpr std::size_t few = 1024;  // below that each adds all by itself
constexpr std::size_t block = (256 << 10) / sizeof(double);

struct offered {
  situ::ptr<double> values;
  situ::ptr<double> sums;
  situ::ptr<situ::signal> word;
};
offered mine, there;
bool leads = false;
std::uint64_t said = 0;

// Both have come.
void meet() {
  ++said;
  std::atomic_ref<std::uint64_t>{there.word.local()->value}.store(said, std::memory_order_release);
  while (std::atomic_ref<std::uint64_t>{mine.word.local()->value}.load(std::memory_order_acquire) < said) {}
}

void add(double* to, const double* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

void sum_block(std::span<double> values) {
  std::memcpy(mine.values.local(), values.data(), values.size_bytes());
  meet();
  if (values.size() <= few) {
    add(values.data(), there.values.local(), values.size());
    return meet();  // before the next is copied
  }
  const std::size_t half = values.size() / 2;
  const std::size_t own = leads ? 0 : half, other = leads ? half : 0;
  add(values.data() + own, there.values.local() + own, half);
  std::memcpy(mine.sums.local() + own, values.data() + own, half * sizeof(double));
  meet();
  std::memcpy(values.data() + other, there.sums.local() + other, half * sizeof(double));
}

void copy_block(std::span<double> values) {
  if (leads) std::memcpy(mine.values.local(), values.data(), values.size_bytes());
  meet();
  if (!leads) std::memcpy(values.data(), there.values.local(), values.size_bytes());
  meet();
}

template <class OfBlock>
void by_blocks(std::span<double> values, OfBlock of_block) {
  for (; values.size() > block; values = values.subspan(block)) of_block(values.first(block));
  of_block(values);
}
void sum_by_hand(std::span<double> values) { by_blocks(values, &sum_block); }
void copy_by_hand(std::span<double> values) { by_blocks(values, &copy_block); }

template <class Situ, class Raw>
void row(const char* name, std::size_t bytes, Situ by_situ, Raw by_hand) {
  std::vector<double> values(bytes / sizeof(double), 1.0);
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (1 << 20) / (bytes + 1024)));
  const auto timed = [&](const auto& body) {
    situ::barrier();
    const auto start = clock::now();
    for (int i = 0; i < repeats; ++i) {
      body(std::span{values});
      values[0] = 1.0;
    }
    return std::chrono::duration<double, std::micro>(clock::now() - start).count() / repeats;
  };
  std::vector<double> own, raw, ratios;
  for (int i = 0; i < 30; ++i) {
    own.push_back(timed(by_situ));
    raw.push_back(timed(by_hand));
    ratios.push_back(own.back() / raw.back());
    std::fill(values.begin(), values.end(), 1.0);
  }
  if (leads) std::printf("%-22s %10zu %12.2f %12.2f %8.2f\n", name, bytes, median(own), median(raw), median(ratios));
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::place_count() != 2) {
    std::fprintf(stderr, "situ_bench_collectives: two places (situ run -n 2)\n");
    return 2;
  }
  leads = situ::here().index() == 0;
  mine = {situ::allocate<double>(most), situ::allocate<double>(most), situ::allocate_signals()};
  there = situ::all_gather(mine)[1 - situ::here().index()];

  if (leads) std::printf("%-22s %10s %12s %12s %8s\n", "case", "bytes", "situ, us", "raw, us", "ratio");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64} << 10, std::size_t{8} << 20}) {
    row("all_reduce", bytes, [](std::span<double> v) { situ::all_reduce(v, std::plus<>{}); }, &sum_by_hand);
    row("broadcast", bytes, [](std::span<double> v) { situ::broadcast(v); }, &copy_by_hand);
  }
  situ::deallocate(mine.values);
  situ::deallocate(mine.sums);
  situ::deallocate(mine.word);
}
