#include "machine/measure_kernels.h"
#include "os/host.h"
#include "os/worker.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <random>
#include <utility>

namespace situ::machine::detail {

double now_ns() noexcept { return static_cast<double>(situ::detail::steady_ns()); }

situ::detail::pages touched_pages(std::size_t bytes, std::uint32_t node) noexcept {
  // without huge pages the figures hold TLB misses too
  situ::detail::pages made{std::max(bytes, situ::detail::huge_page_bytes)};
  if (made.empty() || (node != any_node && made.prefer_node(node) != 0)) return {};
  std::fill_n(made.data(), made.size(), std::byte{0});
  if (node != any_node && !made.lie_on_node(node)) return {};
  return made;
}

void** link_chase(std::span<std::byte> memory, std::size_t line_bytes) {
  const std::size_t lines = std::max<std::size_t>(memory.size() / line_bytes, 1);
  std::vector<std::uint32_t> next(lines);
  std::iota(next.begin(), next.end(), 0);
  // Sattolo's shuffle: a permutation of one single cycle. The seed is fixed, so that runs compare.
  std::mt19937_64 random{20170614};
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  const auto line = [&](std::size_t i) { return reinterpret_cast<void**>(memory.data() + i * line_bytes); };
  for (std::size_t i = 0; i < lines; ++i) *line(i) = line(next[i]);
  return line(0);
}

void** follow_chase(void** start, std::size_t steps) noexcept {
  void** at = start;
  for (std::size_t i = 0; i < steps; i += 8) {
    // Eight steps a turn keep the loop's own work out of an L1 hit's four or five cycles.
    for (int j = 0; j < 8; ++j) at = static_cast<void**>(*at);
  }
  return at;
}

double run_stream(stream_kernel kernel, double* a, double* b, double* c, std::size_t count) noexcept {
  switch (kernel) {
    case stream_kernel::read: {
      // There are eight sums: one sum would wait for its own additions, not for memory.
      double sums[8] = {};
      for (std::size_t i = 0; i + 8 <= count; i += 8)
        for (std::size_t j = 0; j < 8; ++j) sums[j] += a[i + j];
      return std::accumulate(sums, sums + 8, 0.0);
    }
    case stream_kernel::copy:
      for (std::size_t i = 0; i < count; ++i) b[i] = a[i];
      return b[count / 2];
    case stream_kernel::triad:
      for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + 3.0 * b[i];
      return c[count / 2];
  }
  return 0;
}

std::size_t stream_bytes(stream_kernel kernel, std::size_t count) noexcept {
  const std::size_t arrays = kernel == stream_kernel::read ? 1 : kernel == stream_kernel::copy ? 2 : 3;
  return arrays * count * sizeof(double);
}

namespace {

struct alignas(128) line {
  std::atomic<std::uint32_t> value{0};
};

constexpr std::uint32_t stop_value = ~std::uint32_t{0};

// Answers every value until it reads stop_value.
void answer(const line& ping, line& pong) noexcept {
  std::uint32_t last = 0;
  for (;;) {
    const std::uint32_t value = ping.value.load(std::memory_order_acquire);
    if (value == stop_value) return;
    if (value == last) continue;
    last = value;
    pong.value.store(value, std::memory_order_release);
  }
}

}  // namespace

std::vector<double> ping_pong(std::uint32_t a, std::uint32_t b, double seconds, std::uint32_t rounds) {
  line ping;
  line pong;
  std::vector<double> samples;
  std::atomic<int> pinned{0};  // threads that have tried to pin themselves; negative if one failed
  const auto pin = [&](std::uint32_t processor) {
    pinned.fetch_add(situ::detail::bind_to_processor(processor) ? 1 : -100);
    for (int now = pinned.load(); now >= 0 && now < 2; now = pinned.load()) sched_yield();
    return pinned.load() == 2;
  };
  situ::os::worker answering{[&] {
    if (pin(b)) answer(ping, pong);
  }};
  situ::os::worker asking{[&] {
    if (!pin(a)) return;
    const double end = now_ns() + seconds * 1e9;
    std::uint32_t value = 0;
    for (double from = now_ns(); from < end;) {
      for (std::uint32_t i = 0; i < rounds; ++i) {
        ping.value.store(++value, std::memory_order_release);
        while (pong.value.load(std::memory_order_acquire) != value) {}
      }
      const double to = now_ns();
      samples.push_back((to - from) / rounds);
      from = to;
    }
    ping.value.store(stop_value, std::memory_order_release);
  }};
  asking.join();
  answering.join();
  return samples;
}

std::vector<double> stream_bandwidth(stream_kernel kernel, std::span<const std::uint32_t> processors,
                                     std::uint32_t node, std::size_t bytes_per_thread, double seconds) {
  const std::size_t count = bytes_per_thread / sizeof(double) / 3;
  std::vector<double> samples;
  std::atomic<bool> failed{false};
  std::atomic<bool> over{false};
  std::atomic<double> kept{0};
  std::barrier together{static_cast<std::ptrdiff_t>(processors.size())};
  const auto work = [&](std::size_t index) {
    situ::detail::pages memory;
    if (situ::detail::bind_to_processor(processors[index])) memory = touched_pages(bytes_per_thread, node);
    if (memory.empty()) failed = true;
    together.arrive_and_wait();
    if (failed) return;
    auto* const a = reinterpret_cast<double*>(memory.data());
    double sum = 0;
    const double end = now_ns() + seconds * 1e9;
    while (!over) {
      together.arrive_and_wait();
      const double from = now_ns();
      sum += run_stream(kernel, a, a + count, a + 2 * count, count);
      together.arrive_and_wait();
      const double to = now_ns();
      if (index == 0) {
        samples.push_back(static_cast<double>(stream_bytes(kernel, count) * processors.size()) / (to - from) * 1e9);
        over = to >= end && samples.size() >= 5;
      }
      together.arrive_and_wait();  // all threads see the same `over`
    }
    kept.fetch_add(sum);  // so that no pass can be optimised away
  };
  std::vector<situ::os::worker> workers;
  for (std::size_t i = 0; i < processors.size(); ++i) workers.emplace_back([&work, i] { work(i); });
  workers.clear();
  // The first pass warms pages and clocks.
  if (samples.size() > 1) samples.erase(samples.begin());
  return failed ? std::vector<double>{} : samples;
}

double bytes_per_second_of_lines(std::span<std::byte> memory, std::size_t line_bytes) noexcept {
  constexpr std::size_t least_lines = 16'384;  // some ten microseconds
  const std::size_t lines = memory.size() / line_bytes / 8 * 8;
  const std::size_t passes = std::max<std::size_t>(1, least_lines / lines);
  std::uint64_t sum = 0;
  const double before = now_ns();
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::byte* at = memory.data();
    for (std::size_t line = 0; line < lines; line += 8)
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i, at += line_bytes) sum += *reinterpret_cast<const volatile std::uint64_t*>(at);
  }
  const double took = now_ns() - before;
  asm volatile("" : "+r"(sum));
  return static_cast<double>(passes * lines * line_bytes) / took * 1e9;
}

}  // namespace situ::machine::detail
