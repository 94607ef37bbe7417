#include <situ/machine/ordering.h>

#include <algorithm>
#include <compare>
#include <limits>

namespace situ {

std::string_view name(intent what) noexcept {
  static constexpr std::string_view names[] = {"normal", "latency", "bandwidth", "capacity"};
  return names[static_cast<std::size_t>(what)];
}

namespace machine {
namespace {

// Smaller is better in every field.
struct key {
  double merit = 0;        // by figures: ns, or minus bytes per second, or minus bytes
  std::uint32_t tier = 0;  // by kind, where figures are missing: whole classes of memory
  std::uint32_t distance = 0;
  std::uint32_t kind = 0;  // and within a class, behind nearness

  friend auto operator<=>(const key&, const key&) = default;
};

// Without figures: memories at the processor's own speed stand before those behind a link or with slow media, however
// near.
std::uint32_t tier_of(memory_kind kind) {
  switch (kind) {
    case memory_kind::dram:
    case memory_kind::hbm:
    case memory_kind::scratchpad: return 0;
    case memory_kind::cxl: return 1;
    case memory_kind::gpu: return 2;
    case memory_kind::persistent: return 3;
    case memory_kind::file: return 4;
  }
  return 4;
}

// Among equally near memories of the first tier. Stacked memory answers a single load no sooner than DRAM does (Knights
// Landing, Xeon Max), and carries several times as much.
std::uint32_t kind_rank(intent what, memory_kind kind) {
  if (kind == memory_kind::scratchpad) return 0;
  if (what == intent::latency) return kind == memory_kind::dram ? 1 : 2;
  return kind == memory_kind::hbm ? 1 : 2;
}

// DRAM first and then what must be asked for, as Linux orders Knights Landing's nodes.
std::uint32_t normal_tier(memory_kind kind) {
  switch (kind) {
    case memory_kind::dram: return 0;
    case memory_kind::hbm: return 1;
    case memory_kind::cxl: return 2;
    default: return 3 + tier_of(kind);
  }
}

std::uint32_t steps_up(const tree& machine, node_id from, node_id memory) {
  const node_id meeting = machine.common_ancestor(from, memory);
  // A memory below the initiator (of the machine as a whole, say) is local to a part of it: the deeper, the farther.
  const std::uint32_t down = meeting == from ? machine.at(memory).depth - machine.at(from).depth - 1 : 0;
  return machine.at(from).depth - machine.at(meeting).depth + down;
}

}  // namespace

std::vector<ranked_memory> ordering(const tree& machine, intent what, node_id from) {
  std::vector<node_id> candidates;
  bool has_latency = true;
  bool has_bandwidth = true;
  bool has_distance = true;
  for (const node_id id : machine.all(node_kind::memory)) {
    const bool own = machine.at(from).kind == node_kind::device && machine.is_under(id, from);
    if (!machine.is_addressable(id) && !own) continue;
    const path figures = machine.figures(from, id);
    has_latency = has_latency && figures.latency() > 0;
    has_bandwidth = has_bandwidth && figures.best_bandwidth() > 0;
    has_distance = has_distance && figures.distance > 0;
    candidates.push_back(id);
  }

  std::vector<std::pair<key, node_id>> keyed;
  for (const node_id id : candidates) {
    const path figures = machine.figures(from, id);
    const memory_kind kind = machine.at(id).memory;
    key k;
    k.distance = has_distance ? figures.distance : steps_up(machine, from, id);
    if (what == intent::latency && has_latency) {
      k.merit = figures.latency();
    } else if (what == intent::bandwidth && has_bandwidth) {
      k.merit = -static_cast<double>(figures.best_bandwidth());
    } else if (what == intent::capacity) {
      k.merit = -static_cast<double>(machine.at(id).bytes);
    } else if (what == intent::normal) {
      k.tier = normal_tier(kind);
    } else {
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

std::vector<ranked_memory> ordering(const tree& machine, intent what, const processor_set& from) {
  return ordering(machine, what, machine.covering(from));
}

}  // namespace machine
}  // namespace situ
