// What can be said of measurements without trusting the machine: they exist, they are ordered, they leave nothing
// behind.
#include "machine/measure_kernels.h"
#include "os/host.h"

#include <situ/machine/discover.h>
#include <situ/machine/measure.h>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace {

namespace machine = situ::machine;

// A sanitizer's checks are instructions, too.
#ifdef __SANITIZE_THREAD__
constexpr double least_width = 0.05;
#else
constexpr double least_width = 0.5;
#endif

TEST(summarize, interpolates_between_samples) {
  const machine::sample_summary d = machine::summarize({5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(d.median, 3);
  EXPECT_DOUBLE_EQ(d.p10, 1.4);
  EXPECT_DOUBLE_EQ(d.p90, 4.6);
  EXPECT_EQ(d.samples, 5u);
  EXPECT_DOUBLE_EQ(machine::summarize({7}).p90, 7);
}

std::vector<double> around(double center, double spread, int count, unsigned seed) {
  std::mt19937 random{seed};
  std::uniform_real_distribution<double> noise{-spread, spread};
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(center + noise(random));
  return result;
}

TEST(regimes, two_are_told_apart) {
  std::vector<double> samples = around(105, 5, 300, 1);
  for (const double far : around(490, 30, 100, 2)) samples.push_back(far);
  const auto split = machine::split_regimes(samples);
  ASSERT_TRUE(split.has_value());
  EXPECT_NEAR(split->low.median, 105, 2);
  EXPECT_NEAR(split->high.median, 490, 10);
  EXPECT_DOUBLE_EQ(split->low_share, 0.75);
  EXPECT_EQ(split->low.samples, 300u);
}

TEST(regimes, one_stays_one) {
  EXPECT_FALSE(machine::split_regimes(around(105, 10, 500, 3)).has_value());
  EXPECT_FALSE(machine::split_regimes(std::vector<double>(100, 5.0)).has_value());
  EXPECT_FALSE(machine::split_regimes({}).has_value());
  EXPECT_FALSE(machine::split_regimes({1, 500}).has_value());
  std::vector<double> outlier = around(105, 5, 500, 4);
  outlier.push_back(100000);
  EXPECT_FALSE(machine::split_regimes(outlier).has_value()) << "one preemption is no regime";
  std::vector<double> wide;  // a long tail without a gap
  for (int i = 1; i <= 500; ++i) wide.push_back(100 + i * 2);
  EXPECT_FALSE(machine::split_regimes(wide).has_value());
}

TEST(kernels, the_chase_visits_every_line_once_around) {
  std::vector<std::byte> memory(4096 + 64);
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  void** start = machine::detail::link_chase({base, 4096}, 64);
  std::set<void**> seen;
  void** at = start;
  do {
    EXPECT_TRUE(seen.insert(at).second);
    at = static_cast<void**>(*at);
  } while (at != start && seen.size() <= 64);
  EXPECT_EQ(seen.size(), 64u);
  EXPECT_EQ(machine::detail::follow_chase(start, 64), start);
}

TEST(kernels, streams_compute_what_they_say) {
  std::vector<double> a(64, 2.0);
  std::vector<double> b(64, 1.0);
  std::vector<double> c(64, 0.0);
  using machine::detail::stream_kernel;
  EXPECT_DOUBLE_EQ(machine::detail::run_stream(stream_kernel::read, a.data(), b.data(), c.data(), 64), 128);
  machine::detail::run_stream(stream_kernel::triad, a.data(), b.data(), c.data(), 64);
  EXPECT_EQ(c, std::vector<double>(64, 5.0));
  machine::detail::run_stream(stream_kernel::copy, a.data(), b.data(), c.data(), 64);
  EXPECT_EQ(b, a);
  EXPECT_EQ(machine::detail::stream_bytes(stream_kernel::triad, 64), 3u * 64 * 8);
}

TEST(kernels, an_unreachable_processor_is_reported_and_nothing_hangs) {
  constexpr std::uint32_t nowhere = 1u << 19;
  const std::uint32_t here = machine::processor_set::of_this_thread().first();
  EXPECT_TRUE(machine::detail::ping_pong(here, nowhere, 0.01, 10).empty());
  EXPECT_TRUE(machine::detail::ping_pong(nowhere, here, 0.01, 10).empty());
  const std::uint32_t processors[] = {here, nowhere};
  EXPECT_TRUE(machine::detail::stream_bandwidth(machine::detail::stream_kernel::read, processors,
                                                machine::detail::any_node, 1 << 20, 0.01)
                  .empty());
}

TEST(kernels, memory_on_a_node_that_is_not_there_is_not_had) {
  EXPECT_FALSE(machine::detail::touched_pages(1 << 20, machine::detail::any_node).empty());
  EXPECT_TRUE(machine::detail::touched_pages(1 << 20, 4000).empty());
}

machine::measure_options quick() {
  machine::measure_options options;
  options.seconds_per_pair = 0.02;
  options.seconds_per_point = 0.01;
  options.max_cores = 3;
  options.max_working_set_bytes = 96u << 20;
  return options;
}

TEST(measure, this_machine) {
  const machine::tree t = machine::discover();
  const machine::processor_set before = machine::processor_set::of_this_thread();
  std::size_t steps = 0;
  machine::measure_options options = quick();
  options.progress = [&](std::string_view, std::size_t done, std::size_t total) {
    EXPECT_LE(done, total);
    ++steps;
  };
  const machine::measurements m = machine::measure(t, options);
  EXPECT_EQ(machine::processor_set::of_this_thread(), before);
  EXPECT_GT(steps, 0u);
  EXPECT_FALSE(m.latencies.empty() && m.skipped.empty());
  const auto sane = [](const machine::sample_summary& d) {
    return d.samples > 0 && 0 < d.p10 && d.p10 <= d.median && d.median <= d.p90;
  };
  for (const auto& r : m.latencies) EXPECT_TRUE(sane(r.ns)) << t.label(r.where);
  for (const auto& r : m.bandwidths) {
    const bool is_cache = t.at(r.memory).kind == machine::node_kind::cache;
    EXPECT_TRUE(sane(r.read)) << t.label(r.memory);
    EXPECT_EQ(sane(r.copy) && sane(r.triad), !is_cache) << t.label(r.memory) << ": lines of a cache are read alone";
    EXPECT_FALSE(is_cache && t.at(r.memory).level < 2) << t.label(r.memory);
  }
  for (const auto& r : m.ping_pongs) {
    EXPECT_TRUE(sane(r.round_trip_ns));
    EXPECT_NE(r.a, r.b);
  }
  ASSERT_TRUE(m.core.has_value());
  EXPECT_GT(m.core->hertz, 100'000'000U);
  EXPECT_GT(m.core->width, least_width);
  const machine::instruction_cycles& c = m.core->cycles;
  for (const double each : {c.integer, c.multiply, c.divide, c.floating, c.branch, c.call, c.mispredict}) {
    EXPECT_GE(each, 0.01);
    EXPECT_LT(each, 1000);
  }
  EXPECT_LT(c.integer, c.divide);
  if (m.core->dtlb.entries > 0) {
    EXPECT_GE(m.core->dtlb.walk_cycles, 1.5);
    EXPECT_LT(m.core->dtlb.walk_cycles, 1000);
  }
  for (const auto& r : m.capacities) EXPECT_LE(r.bytes, t.at(r.cache).bytes);
  // A first-level hit costs less than a trip to memory on every machine.
  if (m.latencies.size() >= 2 && t.at(m.latencies.front().where).kind == machine::node_kind::cache &&
      t.at(m.latencies.back().where).kind == machine::node_kind::memory) {
    EXPECT_LT(m.latencies.front().ns.median, m.latencies.back().ns.median);
  }
}

TEST(measure, a_thread_bound_to_one_core_measures_no_pairs) {
  const machine::tree t = machine::discover();
  std::thread{[&] {
    ASSERT_TRUE(situ::detail::bind_to_processor(machine::processor_set::of_this_thread().first()));
    const machine::measurements m = machine::measure(t, quick());
    EXPECT_TRUE(m.ping_pongs.empty());
    EXPECT_FALSE(m.skipped.empty());
    for (const auto& r : m.bandwidths) EXPECT_EQ(r.threads, 1u);
  }}.join();
}

TEST(with_measurements, medians_become_figures) {
  const machine::tree t = machine::from_synthetic("pack:2 [numa(memory=1073741824)] l1:2(size=32768) core:1 pu:1");
  const auto memories = t.all(machine::node_kind::memory);
  const auto caches = t.all(machine::node_kind::cache);
  machine::measurements m;
  m.latencies.push_back({caches[0], t.processor(0), 16384, {1, 1.25, 2, 10}});
  m.latencies.push_back({memories[0], t.processor(0), 1 << 26, {80, 90, 99, 10}});
  m.latencies.push_back({memories[1], t.processor(0), 1 << 26, {130, 140, 150, 10}});
  m.bandwidths.push_back({memories[0], 2, 1 << 26, {1e9, 2e9, 3e9, 10}, {}, {}});
  const machine::tree measured = machine::with_measurements(t, m);
  ASSERT_EQ(measured.nodes().size(), t.nodes().size());
  for (const auto id : caches) EXPECT_EQ(measured.at(id).latency_ns, 1.25) << "measured once, alike everywhere";
  EXPECT_EQ(measured.at(memories[0]).latency_ns, 90);
  EXPECT_EQ(measured.at(memories[0]).bandwidth, 2'000'000'000u);
  EXPECT_EQ(measured.at(memories[1]).latency_ns, 0) << "seen from outside only";
  ASSERT_EQ(measured.paths().size(), 1u);
  EXPECT_EQ(measured.label(measured.paths()[0].from), "package 0");
  EXPECT_EQ(measured.figures(t.processor(1), memories[1]).latency(), 140);
}

TEST(as_modelled, has_what_a_model_needs) {
  const machine::tree t =
      machine::from_synthetic("pack:1 [numa(memory=1073741824)] l3:1(size=3145728) l1:2(size=32768) core:1 pu:1");
  const auto caches = t.all(machine::node_kind::cache);
  const auto memory = t.all(machine::node_kind::memory)[0];
  machine::measurements m;
  for (const auto id : caches)
    m.latencies.push_back({id, t.processor(0), 16384, {t.at(id).level == 1 ? 1.0 : 10.0, 20, 30, 10}});
  m.latencies.push_back({memory, t.processor(0), 1 << 26, {80, 90, 99, 10}});
  m.bandwidths.push_back({memory, 2, 1 << 26, {1e9, 2e9, 3e9, 10}, {1e9, 2e9, 2e9, 10}, {1e9, 2e9, 2.7e9, 10}});
  m.bandwidths.push_back({caches[0], 1, 1 << 16, {40e9, 50e9, 60e9, 10}, {}, {}});
  machine::core_result core;
  core.hertz = 2'000'000'000;
  core.cycles = {
      .integer = 0.25, .multiply = 1, .divide = 8, .floating = 0.5, .branch = 0.5, .call = 2, .mispredict = 9};
  core.width = 5;
  core.window = 200;
  core.store_buffer = 50;
  core.misses = 12;
  core.stream_count = 8;
  core.stream_lines = 30;
  core.lines_in_all = 40;
  core.stream_page_bytes = 4096;
  core.dtlb = {.entries = 64, .ways = 64, .page_bytes = 4096, .walk_cycles = 8};  // reaches 256 KiB; 4 ns
  m.core = core;
  m.capacities.push_back({caches[0], 1 << 20});
  const machine::tree made = machine::as_modelled(t, m);
  const machine::node& outer = made.at(made.all(machine::node_kind::cache)[0]);
  ASSERT_EQ(outer.level, 3U);
  EXPECT_EQ(outer.bytes, 1U << 20);
  const std::uint64_t sets = outer.bytes / outer.ways / std::max(1U, outer.line_bytes);
  EXPECT_EQ(sets & (sets - 1), 0U);
  EXPECT_EQ(outer.ways, 16U) << "what others leave of a cache is as associative as all of it";
  EXPECT_EQ(outer.outstanding_per_core, 40U) << "one core measured; two share the cache";
  EXPECT_EQ(outer.outstanding, 0U);
  EXPECT_EQ(outer.bandwidth_per_core, 60'000'000'000U);
  EXPECT_EQ(outer.bandwidth, 0U);
  const machine::node& inner = made.at(made.all(machine::node_kind::cache)[1]);
  EXPECT_EQ(inner.latency_ns, 1) << "nobody disturbed a tenth of the samples";
  EXPECT_EQ(inner.outstanding, 12U);
  EXPECT_EQ(inner.outstanding_per_core, 0U);
  EXPECT_EQ(inner.writes, machine::write_policy::write_back);
  EXPECT_EQ(made.at(made.all(machine::node_kind::memory)[0]).bandwidth, 3'600'000'000U)
      << "what the triad moved, with the lines that its stores read";
  EXPECT_EQ(made.at(made.all(machine::node_kind::core)[0]).cycles, core.cycles);
  EXPECT_EQ(made.at(made.all(machine::node_kind::core)[0]).window, 200U);
  EXPECT_EQ(made.at(made.all(machine::node_kind::core)[0]).dtlb, core.dtlb);
  // of 64 MiB the TLB reaches a 256th; of 16 KiB, all
  EXPECT_DOUBLE_EQ(made.at(made.all(machine::node_kind::memory)[0]).latency_ns, 80 - 4 * 255 / 256.0);
}

}  // namespace
