#include <situ/machine/ordering.h>

#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <iterator>
#include <utility>

namespace situ::machine {
namespace {

using criterion = intent::criterion;

bool is_latency(criterion what) { return what == criterion::latency || what == criterion::write_latency; }
bool is_bandwidth(criterion what) { return what == criterion::bandwidth || what == criterion::write_bandwidth; }

// The limits of a memory's loads and stores. If firmware has mixed up latency (in ns) and bandwidth (in MB/s), both
// are beyond: 350 ns and 25 GB/s become 25000 ns and 350 MB/s.
constexpr double most_ns = 1e4;
constexpr std::uint64_t least_bandwidth = 500'000'000;
// If its latency is possible, a memory with little bandwidth is only slow: a prototype's at 50 MHz carries 400 MB/s.
constexpr std::uint64_t least_slow_bandwidth = 100'000'000;

bool is_latency_of_memory(double ns) { return ns > 0 && ns <= most_ns; }
bool is_bandwidth_of_memory(std::uint64_t rate, const path& of) {
  return rate >= (is_latency_of_memory(of.latency()) ? least_slow_bandwidth : least_bandwidth);
}

// Smaller is better in every field.
struct key {
  double merit = 0;        // by figures: ns, or minus bytes per second, or minus bytes
  std::uint32_t tier = 0;  // by kind, if figures are missing: whole classes of memory
  std::uint32_t distance = 0;
  std::uint32_t kind = 0;  // within a class, after nearness

  friend auto operator<=>(const key&, const key&) = default;
};

// Ranks without figures: memories at the processor's own speed come before those behind a link or with slow media,
// however near.
std::uint32_t tier_of(memory_technology kind) {
  switch (kind) {
    case memory_technology::dram:
    case memory_technology::hbm:
    case memory_technology::scratchpad: return 0;
    case memory_technology::cxl: return 1;
    case memory_technology::gpu: return 2;
    case memory_technology::persistent: return 3;
    case memory_technology::file: return 4;
    case memory_technology::pim: return 5;
  }
  return 5;
}

// Ranks equally near memories of the first tier. Stacked memory answers a single load no sooner than DRAM does
// (Knights Landing, Xeon Max), and carries several times as much.
std::uint32_t kind_rank(criterion what, memory_technology kind) {
  if (kind == memory_technology::scratchpad) return 0;
  if (is_latency(what)) return kind == memory_technology::dram ? 1 : 2;
  return kind == memory_technology::hbm ? 1 : 2;
}

// DRAM comes first, and then the memories that must be asked for, as Linux orders Knights Landing's nodes.
std::uint32_t normal_tier(memory_technology kind) {
  switch (kind) {
    case memory_technology::dram: return 0;
    case memory_technology::hbm: return 1;
    case memory_technology::cxl: return 2;
    default: return 3 + tier_of(kind);
  }
}

std::uint32_t steps_up(const tree& machine, node_id from, node_id memory) {
  const node_id meeting = machine.common_ancestor(from, memory);
  // A memory below the initiator (of the machine as a whole, say) is local to a part of it: the deeper, the farther.
  const std::uint32_t down = meeting == from ? machine.at(memory).depth - machine.at(from).depth - 1 : 0;
  return machine.at(from).depth - machine.at(meeting).depth + down;
}

double latency_for(criterion what, const path& seen) {
  const double ns =
      what == criterion::write_latency && seen.write_latency_ns > 0 ? seen.write_latency_ns : seen.latency();
  return is_latency_of_memory(ns) ? ns : 0;
}

std::uint64_t bandwidth_for(criterion what, const path& seen) {
  const std::uint64_t rate =
      what == criterion::write_bandwidth && seen.write_bandwidth > 0 ? seen.write_bandwidth : seen.best_bandwidth();
  return is_bandwidth_of_memory(rate, seen) ? rate : 0;
}

// The memories that can be allocated from, and the first of them whose figure is not known.
struct candidates {
  std::vector<node_id> memories;
  node_id unknown = no_node;
  bool has_distances = true;
};

candidates candidates_of(const tree& machine, criterion what, node_id from) {
  candidates found;
  for (const node_id id : machine.all(node_kind::memory)) {
    const bool computes = machine.at(id).memory == memory_technology::pim;
    if (computes != (what == criterion::pim)) continue;
    const bool own = machine.at(from).kind == node_kind::device && machine.is_under(id, from);
    if (!machine.is_addressable(id) && !own && !computes) continue;
    const path seen = machine.figures(from, id);
    const bool is_known = is_latency(what)     ? latency_for(what, seen) > 0
                          : is_bandwidth(what) ? bandwidth_for(what, seen) > 0
                                               : true;
    if (!is_known && found.unknown == no_node) found.unknown = id;
    found.has_distances = found.has_distances && seen.distance > 0;
    found.memories.push_back(id);
  }
  return found;
}

}  // namespace

std::vector<ranked_memory> ordering(const tree& machine, const intent& wanted, node_id from) {
  const criterion what = wanted.decided_by();
  const candidates found = candidates_of(machine, what, from);
  const bool has_figures = found.unknown == no_node;
  std::vector<std::pair<key, node_id>> keyed;
  for (const node_id id : found.memories) {
    const path seen = machine.figures(from, id);
    const memory_technology kind = machine.at(id).memory;
    key k;
    k.distance = found.has_distances ? seen.distance : steps_up(machine, from, id);
    if (is_latency(what) && has_figures) {
      k.merit = latency_for(what, seen);
    } else if (is_bandwidth(what) && has_figures) {
      k.merit = -static_cast<double>(bandwidth_for(what, seen));
    } else if (what == criterion::capacity) {
      k.merit = -static_cast<double>(machine.at(id).bytes);
    } else if (what == criterion::normal) {
      k.tier = normal_tier(kind);
    } else if (what != criterion::pim) {
      k.tier = tier_of(kind);
      k.kind = kind_rank(what, kind);
    }
    keyed.emplace_back(k, id);
  }
  std::sort(keyed.begin(), keyed.end());

  std::vector<ranked_memory> result;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    const bool tied = i > 0 && keyed[i].first == keyed[i - 1].first;
    result.push_back({keyed[i].second, tied ? result.back().rank : static_cast<std::uint32_t>(i)});
  }
  return result;
}

std::vector<intent> intents_of(const tree& machine) {
  std::vector<intent> all{std::begin(intents_everywhere), std::end(intents_everywhere)};
  for (const node_id id : machine.all(node_kind::memory)) {
    if (machine.at(id).memory != memory_technology::pim) continue;
    all.push_back(intent::pim);
    break;
  }
  return all;
}

std::vector<ranked_memory> ordering(const tree& machine, const intent& what, const processor_set& from) {
  return ordering(machine, what, machine.covering(from));
}

std::string decided_by(const tree& machine, const intent& wanted, node_id from) {
  const criterion what = wanted.decided_by();
  if (what == criterion::capacity) return "sizes";
  if (what == criterion::normal) return "kinds and nearness";
  if (what == criterion::pim) return "nearness";
  const node_id unknown = candidates_of(machine, what, from).unknown;
  if (unknown == no_node) return "figures";
  return fmt::format("kinds and nearness: no {} of {} is known", is_latency(what) ? "latency" : "bandwidth",
                     machine.label(unknown));
}

std::vector<std::string> doubtful_figures(const tree& machine) {
  std::vector<std::string> sentences;
  const auto look = [&](std::string_view where, node_id memory, const path& seen) {
    if (machine.at(memory).memory == memory_technology::file) return;
    std::string latencies;
    std::string bandwidths;
    for (const double ns : {seen.latency_ns, seen.read_latency_ns, seen.write_latency_ns})
      if (ns > 0 && !is_latency_of_memory(ns)) latencies = format_nanoseconds(ns);
    for (const std::uint64_t rate : {seen.bandwidth, seen.read_bandwidth, seen.write_bandwidth})
      if (rate > 0 && !is_bandwidth_of_memory(rate, seen)) bandwidths = format_bandwidth(rate);
    if (latencies.empty() && bandwidths.empty()) return;
    const char* const both = !latencies.empty() && !bandwidths.empty() ? " and " : "";
    sentences.push_back(fmt::format("{}{}: {}{}{} {} of memory{}; not used", machine.label(memory), where, latencies,
                                    both, bandwidths, *both == '\0' ? "is no figure" : "are no figures",
                                    *both == '\0' ? "" : " (latency and bandwidth look exchanged)"));
  };
  for (const node_id id : machine.all(node_kind::memory)) {
    path own;
    own.latency_ns = machine.at(id).latency_ns;
    own.bandwidth = machine.at(id).bandwidth;
    look("", id, own);
  }
  for (const path& record : machine.paths())
    look(fmt::format(" seen from {}", machine.label(record.from)), record.memory, record);
  return sentences;
}

}  // namespace situ::machine
