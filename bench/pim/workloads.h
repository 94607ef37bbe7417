// The workloads of the benchmark of allocators. Each runs in a process of its own and returns its figures by name.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pim/subjects.h"

namespace pim_bench {

struct figure {
  std::string name;
  double value;
};
using figures = std::vector<figure>;

inline double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}
inline double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
inline void need(const void* block) {
  if (block == nullptr) throw std::runtime_error{"no room"};
}

// --- table 1: the whole device, first in a fresh process, then again ---

template <class Subject>
figures fill_device(Subject& subject, int count, std::size_t bytes, dimension along, int rounds) {
  std::vector<void*> blocks(static_cast<std::size_t>(count));
  std::vector<double> ns;
  for (int round = 0; round <= rounds; ++round) {
    const double start = now_ns();
    for (void*& each : blocks) each = subject.allocate(bytes, along);
    ns.push_back((now_ns() - start) / count);
    for (void* const each : blocks) {
      need(each);
      subject.free(each);
    }
  }
  figures found{{"fresh_ns", ns.front()}};
  if (rounds > 0) found.push_back({"reused_ns", median({ns.begin() + 1, ns.end()})});
  return found;
}

// --- table 2: pairs of allocation and free, by some threads ---

// Binds the calling thread to one of this process's processors: the kernel may take longer than a measurement to spread
// threads.
inline void bind_thread(std::size_t number) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) throw std::runtime_error{"no processors"};
  number %= static_cast<std::size_t>(CPU_COUNT(&allowed));
  int processor = 0;
  for (;; ++processor)
    if (CPU_ISSET(processor, &allowed) && number-- == 0) break;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) throw std::runtime_error{"a processor is refused"};
}

template <class Subject>
figures pairs(Subject& subject, std::size_t bytes, dimension along, int thread_count, int requests) {
  struct times {
    double from, to, own;
  };
  std::vector<times> all(static_cast<std::size_t>(thread_count));
  std::atomic<int> waiting{thread_count};
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) subject.free(subject.allocate(bytes, along));
  };
  {
    std::vector<std::jthread> threads;
    for (times& own : all)
      threads.emplace_back([&, number = static_cast<std::size_t>(&own - all.data())] {
        bind_thread(number);
        run(std::min(requests, 200));  // warm
        waiting.fetch_sub(1);
        while (waiting.load() > 0) std::this_thread::yield();
        const double before = thread_ns();
        own.from = now_ns();
        run(requests);
        own.to = now_ns();
        own.own = thread_ns() - before;
      });
  }
  const auto first = std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.from < b.from; });
  const auto last = std::max_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.to < b.to; });
  double own = 0;
  for (const times& each : all) own += each.own;
  const double count = double(requests) * thread_count;
  return {{"wall_ns", (last->to - first->from) / count}, {"cpu_ns", own / count}};
}

// --- mixed shapes, and vectors in pieces, at a fill ---

struct held_block {
  void* at;
  std::uint32_t granules;
};
struct extent {
  std::uint32_t subarrays, rows;
};

// Half are vertical: 8 to 64 rows, mostly of one subarray; half horizontal: up to 16 subarrays x 8 rows.
inline extent mixed_extent(std::mt19937& random) {
  static constexpr std::uint32_t heights[] = {8, 16, 32, 64};
  if (random() % 2 != 0) {
    const std::uint32_t wide = random() % 4 != 0 ? 1 : static_cast<std::uint32_t>(1 + random() % 4);
    return {wide, heights[random() % 4]};
  }
  const auto wide = static_cast<std::uint32_t>(1 + random() % 16);
  return {wide, static_cast<std::uint32_t>(1 + random() % 8)};
}

inline double clock_cost_ns() {
  std::vector<double> costs;
  for (int i = 0; i < 1001; ++i) {
    const double start = now_ns();
    costs.push_back(now_ns() - start);
  }
  return median(costs);
}

// Frees random blocks until the next one keeps to the fill; the request stream is the same for all subjects.
template <class Subject, class Allocate>
figures run_at_fill(Subject& subject, double fill, int steps, Allocate allocate) {
  const double clock_ns = clock_cost_ns();
  std::mt19937 random{3};
  std::vector<held_block> live;
  std::uint64_t used = 0;
  double allocate_ns = 0, free_ns = 0;
  std::uint64_t frees = 0, late = 0, late_refused = 0, refused = 0;
  for (int i = 0; i < steps; ++i) {
    const extent wanted = mixed_extent(random);
    const std::uint32_t granules = wanted.subarrays * wanted.rows;
    while (!live.empty() && double(used + granules) > double(device_shape.granules()) * fill) {
      std::swap(live[random() % live.size()], live.back());
      const double start = now_ns();
      subject.free(live.back().at);
      free_ns += now_ns() - start - clock_ns;
      ++frees;
      used -= live.back().granules;
      live.pop_back();
    }
    const double start = now_ns();
    const bool is_there = allocate(wanted, live);
    allocate_ns += now_ns() - start - clock_ns;
    if (is_there) used += granules;
    refused += is_there ? 0 : 1;
    if (i >= steps / 2) {
      ++late;
      late_refused += is_there ? 0 : 1;
    }
  }
  for (const held_block& each : live) subject.free(each.at);
  return {{"allocate_ns", allocate_ns / steps},
          {"free_ns", free_ns / double(std::max<std::uint64_t>(frees, 1))},
          {"refused_percent", 100.0 * double(refused) / steps},
          {"refused_percent_of_the_second_half", 100.0 * double(late_refused) / double(late)}};
}

template <class Subject>
figures mixed_shapes(Subject& subject, double fill, int steps) {
  return run_at_fill(subject, fill, steps, [&](extent wanted, std::vector<held_block>& live) {
    void* const at = subject.try_block(wanted.subarrays, wanted.rows);
    if (at == nullptr) return false;
    live.push_back({at, wanted.subarrays * wanted.rows});
    return true;
  });
}

// A vector is a rectangle, or else a piece in each of several subarrays.
template <class Subject>
figures vectors(Subject& subject, double fill, int steps) {
  return run_at_fill(subject, fill, steps, [&](extent wanted, std::vector<held_block>& live) {
    if (void* const whole = subject.try_block(wanted.subarrays, wanted.rows)) {
      live.push_back({whole, wanted.subarrays * wanted.rows});
      return true;
    }
    if (wanted.subarrays == 1) return false;
    const std::size_t before = live.size();
    for (std::uint32_t i = 0; i < wanted.subarrays; ++i) {
      void* const piece = subject.try_block(1, wanted.rows);
      if (piece == nullptr) {
        for (; live.size() > before; live.pop_back()) subject.free(live.back().at);
        return false;
      }
      live.push_back({piece, wanted.rows});
    }
    return true;
  });
}

}  // namespace pim_bench
