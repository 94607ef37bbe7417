// Measured figures of the machine the program runs on: latency of each cache level and memory, bandwidth of each
// memory, and the round trip between cores. Each function pins threads it starts itself; the caller's affinity stays.
// Not thread-safe with itself: two measurements at once disturb each other.
//
// Virtual machines wander between regimes (a near and a far core-to-core round trip, changing over seconds), so results
// are distributions, and two regimes are told apart when they are there (split_regimes).
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace situ::machine {

// Samples in three figures: a tenth of them lie below p10, a tenth above p90. The unit is that of the samples.
struct distribution {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
  std::uint32_t samples = 0;
};

// The distribution of these samples. pre: there is one at least. cost: a sort.
[[nodiscard]] distribution summarize(std::vector<double> samples);

// Two groups of samples with a gap between them.
struct regimes {
  distribution low;
  distribution high;
  double low_share = 0;  // of the samples
};
// The split that explains most of the spread, if the groups' medians differ by more than 1.5 times, each holds at least
// 3% of the samples (and 3 of them), and the gap between them is wider than either group's p10..p90. Nothing where one
// group explains all. cost: a sort.
[[nodiscard]] std::optional<regimes> split_regimes(std::vector<double> samples);

// What one dependent load costs in a cache or memory.
struct latency_result {
  node_id where = no_node;  // a cache or a memory
  node_id from = no_node;   // the processor that measured
  std::uint64_t working_set_bytes = 0;
  distribution ns;  // one dependent load
};

// What threads near a memory move together, in bytes per second.
struct bandwidth_result {
  node_id memory = no_node;
  std::uint32_t threads = 0;  // that ran at once
  std::uint64_t working_set_bytes = 0;
  distribution read;   // bytes read
  distribution copy;   // b[i] = a[i]; bytes read and written
  distribution triad;  // c[i] = a[i] + s * b[i]; bytes read and written
};

// How long a word takes from one processor to another and back.
struct ping_pong_result {
  node_id a = no_node;  // processors
  node_id b = no_node;
  distribution round_trip_ns;
  std::optional<regimes> split;  // where there are two regimes
};

// What one core does, and how far it goes on past a miss. Cores are taken to be alike.
struct core_result {
  node_id from = no_node;          // the processor that measured
  std::uint64_t hertz = 0;         // of additions that wait for each other, one a cycle
  instruction_cycles cycles;       // by the distance of independent instructions; branches half taken, half not
  double width = 0;                // instructions of several classes a cycle
  tlb dtlb;                        // the first one; its walk: what a load costs beyond it; no entries: none is found
  std::uint32_t window = 0;        // instructions from a miss to one that overlaps with it; zero: none has been found
  std::uint32_t store_buffer = 0;  // stores that wait behind one that misses
  std::uint32_t misses = 0;        // loads that miss all caches, under way at a time
  std::uint32_t stream_count = 0;  // streams of lines that are fetched ahead; zero: none is
  std::uint32_t stream_lines = 0;  // so many lines
  std::uint32_t lines_in_all = 0;  // under way past the first cache, of several streams
  std::uint64_t stream_page_bytes = 0;  // up to the end of such a page
};

// How much of a cache one core's data finds: the outermost one is shared, with others too whom nobody here sees.
struct capacity_result {
  node_id cache = no_node;
  std::uint64_t bytes = 0;  // of the largest working set that its loads do not leave
};

// All that measure() has found.
struct measurements {
  std::vector<latency_result> latencies;
  std::vector<bandwidth_result> bandwidths;
  std::vector<ping_pong_result> ping_pongs;
  std::optional<core_result> core;
  std::vector<capacity_result> capacities;
  std::vector<std::string> skipped;  // what could not be measured, and why
};

// What to measure, and how long.
struct measure_options {
  // Told what is being measured, for a progress line.
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress;
  std::uint32_t max_cores = 16;    // of the ping-pong matrix: the first so many
  double seconds_per_pair = 0.5;   // of two processors
  double seconds_per_point = 0.3;  // of latency and bandwidth
  std::uint64_t max_working_set_bytes = std::uint64_t{1} << 30;
};

// Measures caches, memories and pairs of processors. What cannot be measured is told in `skipped`. Processors outside
// the calling thread's affinity are left alone. pre: `machine` is discover()'s. cost: seconds to minutes, as the
// options say: a time for each pair of processors and for each cache and memory.
[[nodiscard]] measurements measure(const tree& machine, const measure_options& options = {});

// The tree with measured medians as figures: latencies of caches and memories, bandwidth of memories, and what a core
// does, for a model: cycles, window and misses under way. Capacities are not put in: they change from hour to hour.
// cost: a copy of the tree.
[[nodiscard]] tree with_measurements(const tree& machine, const measurements& measured);

// The same, and what a model of the machine needs besides (docs/design/model.md): figures of the undisturbed machine, a
// tenth of the samples being better (latencies' p10 without the TLB's part of it, bandwidths' p90); the outermost cache
// with the capacity that one core's data finds; ways that make the sets a power of two; caches that write back and take
// lines on reads and writes, which is assumed; instruction caches as fast as those of data beside them. Devices are
// left out. cost: a copy of the tree.
[[nodiscard]] tree as_modelled(const tree& machine, const measurements& measured);

}  // namespace situ::machine
