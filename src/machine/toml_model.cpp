#include "machine/toml_model.h"

#include <fmt/format.h>

#include "machine/toml_fields.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace situ::machine {
namespace {

constexpr write_policy write_policies[] = {write_policy::unknown, write_policy::write_back,
                                           write_policy::write_through};
constexpr line_allocation allocations[] = {line_allocation::unknown, line_allocation::reads,
                                           line_allocation::reads_and_writes};
constexpr replacement replacements[] = {replacement::unknown, replacement::lru, replacement::tree_plru,
                                        replacement::srrip, replacement::random};
constexpr inclusion inclusions[] = {inclusion::unknown, inclusion::none, inclusion::inclusive, inclusion::exclusive};
constexpr page_policy page_policies[] = {page_policy::unknown, page_policy::open, page_policy::closed};
constexpr address_mapping mappings[] = {address_mapping::unknown, address_mapping::row_bank_column,
                                        address_mapping::row_column_bank, address_mapping::permutation};
constexpr page_walks walks_of_pages[] = {page_walks::unknown, page_walks::fixed, page_walks::through_caches};
constexpr std::uint32_t most_threads = 128;  // of a core, as of the Cray XMT

// A key of the model's figures, and the kinds of node that have it.
struct model_key {
  std::string_view key;
  std::initializer_list<node_kind> kinds;
};
const model_key model_keys[] = {
    {"write_policy", {node_kind::cache}},
    {"allocates_on", {node_kind::cache}},
    {"replacement", {node_kind::cache}},
    {"replacement_seed", {node_kind::cache}},
    {"inclusion", {node_kind::cache}},
    {"coherence", {node_kind::package, node_kind::group}},
    {"position", {node_kind::package, node_kind::group, node_kind::device}},
    {"width_bits", {node_kind::package, node_kind::group}},
    {"access_time", {node_kind::memory, node_kind::cache}},
    {"occupancy", {node_kind::memory, node_kind::cache}},
    {"burst_bytes", {node_kind::memory, node_kind::cache}},
    {"channels", {node_kind::memory, node_kind::cache}},
    {"ranks", {node_kind::memory, node_kind::cache}},
    {"banks", {node_kind::memory, node_kind::cache}},
    {"row_bytes", {node_kind::memory, node_kind::cache}},
    {"page_policy", {node_kind::memory, node_kind::cache}},
    {"address_mapping", {node_kind::memory, node_kind::cache}},
    {"tRCD", {node_kind::memory, node_kind::cache}},
    {"tRP", {node_kind::memory, node_kind::cache}},
    {"tRAS", {node_kind::memory, node_kind::cache}},
    {"tREFI", {node_kind::memory, node_kind::cache}},
    {"tRFC", {node_kind::memory, node_kind::cache}},
    {"victim_lines", {node_kind::cache}},
    {"entries", {node_kind::device}},
    {"cycles", {node_kind::core}},
    {"itlb", {node_kind::core}},
    {"itlb_2m", {node_kind::core}},
    {"itlb_1g", {node_kind::core}},
    {"dtlb", {node_kind::core}},
    {"dtlb_2m", {node_kind::core}},
    {"dtlb_1g", {node_kind::core}},
    {"stlb", {node_kind::core}},
    {"page_walks", {node_kind::core}},
    {"walk_cache", {node_kind::core}},
    {"page_size", {node_kind::core}},
    {"width", {node_kind::core}},
    {"window", {node_kind::core}},
    {"store_buffer", {node_kind::core}},
    {"threads", {node_kind::core}},
    {"outstanding", {node_kind::cache}},
    {"outstanding_per_core", {node_kind::cache}},
    {"bandwidth_per_core", {node_kind::cache}},
    {"prefetch_streams", {node_kind::cache}},
    {"prefetch_lines", {node_kind::cache}},
    {"prefetch_page", {node_kind::cache}},
};

// The keys that a memory-side cache shares with memories are no other cache's.
constexpr std::string_view channel_keys[] = {
    "access_time", "occupancy",       "burst_bytes", "channels", "ranks", "banks", "row_bytes",
    "page_policy", "address_mapping", "tRCD",        "tRP",      "tRAS",  "tREFI", "tRFC"};

dram_banks read_banks(const spec_table& table, const node_facts& facts) {
  if (facts.kind == node_kind::cache && facts.cache != cache_kind::memory_side)
    for (const std::string_view key : channel_keys)
      if (table.has(key)) table.fail(key, "belongs to a memory or to a cache with cache = \"memory_side\"; remove it");
  return {.ranks = small(table, "ranks"),
          .banks = small(table, "banks"),
          .row_bytes = small(table, "row_bytes"),
          .policy = parse_kind(table, "page_policy", "unknown", page_policies),
          .mapping = parse_kind(table, "address_mapping", "unknown", mappings),
          .trcd_ns = table.nanoseconds("tRCD", 0),
          .trp_ns = table.nanoseconds("tRP", 0),
          .tras_ns = table.nanoseconds("tRAS", 0),
          .trefi_ns = table.nanoseconds("tREFI", 0),
          .trfc_ns = table.nanoseconds("tRFC", 0)};
}

double cycles_in(const spec_table& table, std::string_view key) {
  const double value = table.number(key, 0);
  if (!(value >= 0 && value <= 1e6))
    table.fail(key, fmt::format("{} cycles cannot be; write a number from 0 to 1000000", value));
  return value;
}

tlb read_tlb(const spec_table& table, std::string_view which) {
  if (which == "itlb" || which == "dtlb")
    table.allow_only({"entries", "ways", "page", "walk", "walk_instructions"});
  else if (which == "stlb")
    table.allow_only({"entries", "ways", "hit"});
  else
    table.allow_only({"entries", "ways"});
  return {.entries = small(table, "entries"),
          .ways = small(table, "ways"),
          .page_bytes = table.bytes("page", 0),
          .walk_cycles = cycles_in(table, "walk"),
          .hit_cycles = cycles_in(table, "hit"),
          .walk_instructions = small(table, "walk_instructions")};
}

void read_cycles(const spec_table& table, instruction_cycles& cycles) {
  table.allow_only({"integer", "multiply", "divide", "floating", "branch", "call", "mispredict"});
  cycles.integer = cycles_in(table, "integer");
  cycles.multiply = cycles_in(table, "multiply");
  cycles.divide = cycles_in(table, "divide");
  cycles.floating = cycles_in(table, "floating");
  cycles.branch = cycles_in(table, "branch");
  cycles.call = cycles_in(table, "call");
  cycles.mispredict = cycles_in(table, "mispredict");
}

}  // namespace

void read_model_figures(const spec_table& table, node_facts& facts) {
  for (const model_key& known : model_keys)
    if (table.has(known.key) && std::ranges::find(known.kinds, facts.kind) == known.kinds.end())
      table.fail(known.key,
                 fmt::format("does not belong to kind = \"{}\"; remove it (docs/design/machine.md: kinds that have it)",
                             name(facts.kind)));
  facts.writes = parse_kind(table, "write_policy", "unknown", write_policies);
  facts.allocates_on = parse_kind(table, "allocates_on", "unknown", allocations);
  facts.replaces = parse_kind(table, "replacement", "unknown", replacements);
  facts.replacement_seed = small(table, "replacement_seed");
  facts.includes = parse_kind(table, "inclusion", "unknown", inclusions);
  facts.coherent_by = parse_kind(table, "coherence", "unknown", coherences);
  facts.width_bits = small(table, "width_bits");
  facts.access_ns = table.nanoseconds("access_time", 0);
  facts.occupancy_ns = table.nanoseconds("occupancy", 0);
  facts.burst_bytes = small(table, "burst_bytes");
  facts.channels = small(table, "channels");
  facts.rows = read_banks(table, facts);
  facts.victim_lines = small(table, "victim_lines");
  facts.entries = small(table, "entries");
  facts.width = table.number("width", 0);
  if (!(facts.width >= 0 && facts.width <= 1000))
    table.fail("width", fmt::format("{} instructions a cycle cannot be; write a number from 0 to 1000", facts.width));
  facts.window = small(table, "window");
  facts.store_buffer = small(table, "store_buffer");
  facts.threads = small(table, "threads");
  if (table.has("threads") && (facts.threads == 0 || facts.threads > most_threads))
    table.fail("threads", fmt::format("a core has 1 to {} hardware threads, not {}; write a number of these",
                                      most_threads, facts.threads));
  facts.outstanding = small(table, "outstanding");
  facts.outstanding_per_core = small(table, "outstanding_per_core");
  facts.bandwidth_per_core = table.bandwidth("bandwidth_per_core", 0);
  facts.prefetch_streams = small(table, "prefetch_streams");
  facts.prefetch_lines = small(table, "prefetch_lines");
  facts.prefetch_page_bytes = table.bytes("prefetch_page", 0);
  if (table.has("cycles")) read_cycles(table.table("cycles"), facts.cycles);
  for (const auto& [key, of] : tlb_keys)
    if (table.has(key)) facts.*of = read_tlb(table.table(key), key);
  facts.walks = parse_kind(table, "page_walks", "unknown", walks_of_pages);
  facts.walk_cache = small(table, "walk_cache");
  facts.page_size_bytes = table.bytes("page_size", 0);
}

}  // namespace situ::machine
