#include "model/parts/read_memory.h"

#include "model/parts/read_banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace situ::model {
namespace {

time_ps from_ns(double ns) { return static_cast<time_ps>(std::llround(ns * 1000)); }

}  // namespace

// Its memory is that of its lines, and has the keys of memories.
side_cache_spec memory_reader::read_side_cache(machine::node_id id, const replacement_spec& replacement) const {
  const machine::node& n = tree_.at(id);
  check_side_cache(id);
  const std::uint64_t way_bytes = std::uint64_t{n.ways} * n.line_bytes;
  side_cache_spec cache{
      .sets = n.bytes / way_bytes, .ways = n.ways, .line_bytes = n.line_bytes, .replacement = replacement, .data = {}};
  if (n.bytes % way_bytes != 0 || cache.sets == 0 ||
      (!std::has_single_bit(cache.sets) && cache.sets % side_cache_spec::sets_of_block != 0))
    fail_(id,
          fmt::format("{} bytes in {} ways of lines of {} bytes are {:.6g} sets; a power of two of them is allowed, "
                      "or a multiple of {}",
                      n.bytes, n.ways, n.line_bytes, static_cast<double>(n.bytes) / static_cast<double>(way_bytes),
                      side_cache_spec::sets_of_block));
  cache.data.name = tree_.label(id);
  cache.data.node = id;
  cache.data.bytes = n.bytes;
  read_channels(id, cache.data);
  return cache;
}

void memory_reader::check_side_cache(machine::node_id id) const {
  const machine::node& n = tree_.at(id);
  if (n.bytes == 0) fail_(id, "a cache needs a size");
  if (n.ways == 0) fail_(id, "a cache needs ways; 1 for direct mapped");
  if (!std::has_single_bit(n.line_bytes) || n.line_bytes < 16)
    fail_(id, fmt::format("line_bytes = {} cannot be; a power of two from 16 on is allowed", n.line_bytes));
  if (n.writes == machine::write_policy::write_through || n.allocates_on == machine::line_allocation::reads)
    fail_(id, "a memory-side cache writes back and allocates on reads and writes; remove the other policy");
  if (n.includes != machine::inclusion::unknown || n.outstanding > 0 || n.outstanding_per_core > 0 ||
      n.bandwidth_per_core > 0 || n.prefetch_streams > 0 || n.victim_lines > 0)
    fail_(
        id,
        "inclusion, outstanding, bandwidth_per_core, a prefetcher and a victim buffer are of caches in front of cores; "
        "remove them");
  if (n.children.size() != 1 || tree_.at(n.children.front()).kind != machine::node_kind::memory)
    fail_(id, "a memory-side cache is in front of one memory; put one memory, and nothing else, under it");
}

void memory_reader::read_channels(machine::node_id id, memory_spec& memory) const {
  memory.channels = std::max(1U, tree_.at(id).channels);
  read_time(id, memory);
  read_occupancy(id, memory);
  read_banks(tree_.at(id), memory, [&](const std::string& message) { fail_(id, message); });
}

void memory_reader::read_time(machine::node_id id, memory_spec& memory) const {
  const machine::node& n = tree_.at(id);
  const double seen_ns = n.read_latency_ns > 0 ? n.read_latency_ns : n.latency_ns;
  if (n.access_ns > 0) {
    memory.access_time = from_ns(n.access_ns);
  } else if (memory.tile == none && spec_.mesh.columns > 0) {
    fail_(id, "a memory behind a mesh needs an access_time, from its controller's side");
  } else if (seen_ns <= 0) {
    fail_(id, "a memory needs a latency, as a core sees it, or an access_time");
  } else {
    // The latency that a core sees, less the lookups in its outermost cache and in a cache at the memory's side, which
    // come first.
    time_ps before = memory.tile != none || spec_.cores.front().data_path.empty()
                         ? 0
                         : spec_.caches[spec_.cores.front().data_path.back()].hit_time;
    if (memory.side_cache != none) before += spec_.side_caches[memory.side_cache].data.access_time;
    if (from_ns(seen_ns) <= before) fail_(id, "its latency is below that of the outermost cache in front of it");
    memory.access_time = from_ns(seen_ns) - before;
  }
}

void memory_reader::read_occupancy(machine::node_id id, memory_spec& memory) const {
  const machine::node& n = tree_.at(id);
  memory.burst_bytes = n.burst_bytes;
  if (memory.burst_bytes == 0)
    for (const cache_spec& cache : spec_.caches) memory.burst_bytes = std::max(memory.burst_bytes, cache.line_bytes);
  if (memory.burst_bytes == 0) fail_(id, "a memory without caches in front of it needs burst_bytes");
  const std::uint64_t bandwidth = n.read_bandwidth > 0 ? n.read_bandwidth : n.bandwidth;
  memory.bytes_per_second = bandwidth / memory.channels;
  if (n.occupancy_ns > 0) {
    memory.occupancy = from_ns(n.occupancy_ns);
  } else if (memory.bytes_per_second > 0) {
    memory.occupancy = from_ns(memory.burst_bytes * 1e9 / static_cast<double>(memory.bytes_per_second));
  } else if (memory.tile == none) {
    fail_(id, "a memory needs a bandwidth, or an occupancy: how long a burst keeps a channel");
  }
  if (memory.bytes_per_second == 0 && memory.occupancy > 0)
    memory.bytes_per_second = memory.burst_bytes * 1'000'000'000'000ULL / memory.occupancy;
}

}  // namespace situ::model
