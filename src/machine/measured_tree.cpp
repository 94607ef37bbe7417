// Puts measured figures into a tree: as they are, and as a model of the machine needs them.
#include <situ/machine/measure.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace situ::machine {
namespace {

// Returns whether several cores use the cache.
bool is_shared(const tree& machine, node_id cache) {
  const std::vector<node_id> cores = machine.all(node_kind::core);
  return std::ranges::count_if(cores, [&](node_id core) { return machine.is_under(core, cache); }) > 1;
}

// Returns all caches of this one's kind and level: all cores are taken to be alike.
std::vector<node_id> caches_like(const tree& machine, node_id cache) {
  std::vector<node_id> alike;
  for (const node_id id : machine.all(node_kind::cache))
    if (machine.at(id).level == machine.at(cache).level && machine.at(id).cache == machine.at(cache).cache)
      alike.push_back(id);
  return alike;
}

// Gives one core's figures to all cores. The caches around it get its outstanding misses, and the second cache, if
// there is one, gets its prefetch streams. One core's misses do not show how many a shared cache has in all.
void put_core(tree_builder& builder, const tree& machine, const core_result& core) {
  for (node_id id = 1; id < machine.nodes().size(); ++id) {
    const node& n = machine.at(id);
    node_facts& facts = builder.facts(id);
    if (n.kind == node_kind::core) {
      facts.hertz = core.hertz;
      facts.cycles = core.cycles;
      facts.width = core.width;
      if (core.window > 0) facts.dtlb = core.dtlb;
      facts.window = core.window;
      facts.store_buffer = core.window > 0 ? core.store_buffer : 0;
    }
    if (n.kind != node_kind::cache || n.cache == cache_kind::instruction || core.misses == 0) continue;
    const std::uint32_t lines = n.level == 1 ? core.misses : std::max(core.stream_lines, core.lines_in_all);
    (is_shared(machine, id) ? facts.outstanding_per_core : facts.outstanding) = lines;
    if (n.level != 2 || core.stream_count == 0) continue;
    facts.prefetch_streams = core.stream_count;
    facts.prefetch_lines = core.stream_lines;
    facts.prefetch_page_bytes = core.stream_page_bytes;
  }
}

// Shapes a cache by the bytes that one core's data finds of it: other cores' lines take room in every set, so the rest
// is as associative as before, or half, with fewer sets, whose number is a power of two. Figures that the firmware
// does not give are assumed: 16 ways of lines of 64 bytes.
void shape_cache(node_facts& cache, std::uint64_t bytes) {
  if (cache.line_bytes == 0) cache.line_bytes = 64;
  const std::uint64_t line_bytes = cache.line_bytes;
  const std::uint64_t ways = cache.ways == 0 ? 16 : cache.ways;
  const std::uint64_t sets = std::bit_ceil(std::max<std::uint64_t>(1, bytes / line_bytes / ways));
  const std::uint64_t wanted = std::max<std::uint64_t>(1, (bytes + sets * line_bytes / 2) / (sets * line_bytes));
  cache.ways = static_cast<std::uint32_t>(wanted);
  cache.bytes = wanted * sets * line_bytes;
}

// Returns the latency without the core's waits for translations, which count for the TLB.
double without_walks(const latency_result& of, const core_result& core) {
  const double reach = static_cast<double>(core.dtlb.entries) * static_cast<double>(core.dtlb.page_bytes);
  const double missed = 1 - std::min(1.0, reach / static_cast<double>(of.working_set_bytes));
  return of.ns.p10 - missed * core.dtlb.walk_cycles * 1e9 / static_cast<double>(core.hertz);
}

measurements undisturbed(measurements measured) {
  for (latency_result& each : measured.latencies)
    each.ns.median =
        measured.core && measured.core->dtlb.entries > 0 ? without_walks(each, *measured.core) : each.ns.p10;
  // A copy and a triad move a line more than they count, since caches fetch lines on writes.
  for (bandwidth_result& each : measured.bandwidths)
    each.read.median = std::max({each.read.p90, each.copy.p90 * 3 / 2, each.triad.p90 * 4 / 3});
  return measured;
}

}  // namespace

tree as_modelled(const tree& machine, const measurements& measured) {
  const tree figures = with_measurements(machine, undisturbed(measured));
  tree_builder builder{figures.name(), figures.description()};
  builder.facts(root_node) = figures.root();
  std::map<node_id, node_id> made{{root_node, root_node}};
  double first_latency_ns = 0;
  for (const node& n : figures.nodes())
    if (n.kind == node_kind::cache && n.cache != cache_kind::instruction && n.level == 1)
      first_latency_ns = n.latency_ns;
  for (node_id id = 1; id < figures.nodes().size(); ++id) {
    node facts = figures.at(id);
    if (facts.kind == node_kind::device || !made.contains(facts.parent)) continue;
    if (facts.kind == node_kind::cache) {
      std::uint64_t bytes = facts.bytes;
      for (const capacity_result& each : measured.capacities) {
        const node& of = figures.at(each.cache);
        if (of.level == facts.level && of.cache == facts.cache) bytes = each.bytes;
      }
      shape_cache(facts, bytes);
      facts.writes = write_policy::write_back;
      facts.allocates_on = line_allocation::reads_and_writes;
      if (facts.latency_ns == 0) facts.latency_ns = first_latency_ns;
    }
    if (facts.kind == node_kind::memory && facts.memory == memory_technology::dram) facts.burst_bytes = 64;
    made[id] = builder.add(made.at(facts.parent), facts);
  }
  for (path record : figures.paths()) {
    if (!made.contains(record.from) || !made.contains(record.memory)) continue;
    record.from = made.at(record.from);
    record.memory = made.at(record.memory);
    builder.add_path(record);
  }
  return std::move(builder).build();
}

tree with_measurements(const tree& machine, const measurements& measured) {
  tree_builder builder{machine.name(), machine.description()};
  builder.facts(root_node) = machine.root();
  for (node_id id = 1; id < machine.nodes().size(); ++id) builder.add(machine.at(id).parent, machine.at(id));

  std::map<std::pair<node_id, node_id>, path> paths;
  for (const path& record : machine.paths()) paths[{record.from, record.memory}] = record;
  for (const latency_result& latency : measured.latencies) {
    const node& target = machine.at(latency.where);
    if (target.kind == node_kind::cache) {
      for (const node_id id : caches_like(machine, latency.where)) builder.facts(id).latency_ns = latency.ns.median;
    } else if (target.processors.includes(machine.at(latency.from).processors)) {
      builder.facts(latency.where).latency_ns = latency.ns.median;
    } else {
      // The largest part of the machine that sees the memory from outside.
      const node_id meeting = machine.common_ancestor(latency.from, latency.where);
      node_id from = latency.from;
      while (machine.at(from).parent != meeting) from = machine.at(from).parent;
      path& record = paths[{from, latency.where}];
      record.from = from;
      record.memory = latency.where;
      record.read_latency_ns = latency.ns.median;
    }
  }
  for (const bandwidth_result& bandwidth : measured.bandwidths) {
    const auto rate = static_cast<std::uint64_t>(bandwidth.read.median);
    if (machine.at(bandwidth.memory).kind == node_kind::cache)
      for (const node_id id : caches_like(machine, bandwidth.memory)) builder.facts(id).bandwidth_per_core = rate;
    else
      builder.facts(bandwidth.memory).bandwidth = rate;
  }
  if (measured.core) put_core(builder, machine, *measured.core);
  for (const auto& [pair, record] : paths) builder.add_path(record);
  return std::move(builder).build();
}

}  // namespace situ::machine
