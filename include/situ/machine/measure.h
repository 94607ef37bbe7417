// Measures the machine that the program runs on: latency of each cache level and memory, bandwidth of each memory, and
// the round trip between cores. Each function pins threads that it starts itself; the caller's affinity stays. Not
// thread-safe with itself: two measurements at once disturb each other.
//
// Virtual machines wander between regimes (a near and a far core-to-core round trip, changing over seconds), so results
// are distributions, and split_regimes separates two regimes if the samples show them.
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
struct sample_summary {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
  std::uint32_t samples = 0;
};

// Returns the summary of these samples. pre: `samples` is not empty. cost: a sort.
[[nodiscard]] sample_summary summarize(std::vector<double> samples);

// Two groups of samples with a gap between them.
struct regimes {
  sample_summary low;
  sample_summary high;
  double low_share = 0;  // share of the samples in the low group
};
// Returns the split that explains most of the spread, if the groups' medians differ by more than 1.5 times, each holds
// at least 3% of the samples (and 3 of them), and the gap between them is wider than either group's p10..p90; otherwise
// nullopt. cost: a sort.
[[nodiscard]] std::optional<regimes> split_regimes(std::vector<double> samples);

// The latency of a cache or memory.
struct latency_result {
  node_id where = no_node;  // a cache or a memory
  node_id from = no_node;   // the processor that measured
  std::uint64_t working_set_bytes = 0;
  sample_summary ns;  // one dependent load
};

// The bandwidth that threads near a memory reach together, in bytes per second; or that of a cache behind another one,
// whose lines one thread reads, a load each: no copy and triad then.
struct bandwidth_result {
  node_id memory = no_node;   // or cache
  std::uint32_t threads = 0;  // threads that ran at once
  std::uint64_t working_set_bytes = 0;
  sample_summary read;   // bytes read
  sample_summary copy;   // b[i] = a[i]; bytes read and written
  sample_summary triad;  // c[i] = a[i] + s * b[i]; bytes read and written
};

// The round-trip time of a word between two processors.
struct ping_pong_result {
  node_id a = no_node;  // processors
  node_id b = no_node;
  sample_summary round_trip_ns;
  std::optional<regimes> split;  // set if there are two regimes
};

// The speed of one core, and its capacity to overlap misses. All cores are assumed to be alike.
struct core_result {
  node_id from = no_node;     // the processor that measured
  std::uint64_t hertz = 0;    // clock, from additions that depend on each other, one a cycle
  instruction_cycles cycles;  // from the time between independent instructions; branches half taken, half not
  double width = 0;           // instructions of several classes a cycle
  tlb dtlb;                   // the first level; its walk: the cost of a load beyond it; zero entries: none was found
  std::uint32_t window = 0;   // instructions between a miss and the last one that overlaps with it; zero: not found
  std::uint32_t store_buffer = 0;       // stores that wait behind one that misses
  std::uint32_t misses = 0;             // loads that miss all caches and are outstanding at a time
  std::uint32_t stream_count = 0;       // streams of lines that the core prefetches; zero: it prefetches none
  std::uint32_t stream_lines = 0;       // lines that it prefetches ahead in a stream
  std::uint32_t lines_in_all = 0;       // lines of several streams outstanding past the first cache
  std::uint64_t stream_page_bytes = 0;  // the prefetcher does not cross a boundary of such a page
};

// The part of a cache that one core's data can use: the outermost cache is shared, also with users outside this
// machine's view.
struct capacity_result {
  node_id cache = no_node;
  std::uint64_t bytes = 0;  // of the largest working set whose loads hit the cache
};

// The result of measure().
struct measurements {
  std::vector<latency_result> latencies;
  std::vector<bandwidth_result> bandwidths;
  std::vector<ping_pong_result> ping_pongs;
  std::optional<core_result> core;
  std::vector<capacity_result> capacities;
  std::vector<std::string> skipped;  // measurements that were not possible, each with the reason
};

// Options of measure(): what to measure, and for how long.
struct measure_options {
  // Called with the name of each measurement, for a progress line.
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress;
  std::uint32_t max_cores = 16;    // the ping-pong matrix covers the first so many cores
  double seconds_per_pair = 0.5;   // for each pair of processors
  double seconds_per_point = 0.3;  // for each point of latency and bandwidth
  std::uint64_t max_working_set_bytes = std::uint64_t{1} << 30;
};

// Measures caches, memories and pairs of processors. `skipped` lists measurements that were not possible. Processors
// outside the calling thread's affinity are not used. pre: `machine` is discover()'s. cost: seconds to minutes, as the
// options say: a time for each pair of processors and for each cache and memory.
[[nodiscard]] measurements measure(const tree& machine, const measure_options& options = {});

// Returns the tree with measured medians as figures: latencies and bandwidths of caches and memories, and a core's cycles, window and outstanding misses, for a model. Measured capacities are left out: they change from hour to
// hour. cost: a copy of the tree.
[[nodiscard]] tree with_measurements(const tree& machine, const measurements& measured);

// Does what with_measurements does, and adds the other figures that a model of the machine needs
// (docs/design/model.md): figures of the undisturbed machine, which a tenth of the samples beat (latencies' p10 without
// the TLB's part of it, bandwidths' p90); the outermost cache with the capacity that one core's data finds; ways that
// make the sets a power of two; caches that write back and allocate on reads and writes, which is assumed; instruction
// caches as fast as the data caches next to them. Devices are left out. cost: a copy of the tree.
[[nodiscard]] tree as_modelled(const tree& machine, const measurements& measured);

}  // namespace situ::machine
