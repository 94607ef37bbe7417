// Trees that no machine has, for tests that must hold for every tree.
#pragma once

#include <situ/machine/tree.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace situ::machine::test {

class random_tree {
 public:
  explicit random_tree(std::uint64_t seed) : random_{seed} {}

  tree make() {
    tree_builder builder{text(), below(3) == 0 ? text() : ""};
    std::vector<node_id> inner{root_node};  // what may have children
    std::vector<node_id> memories;
    std::vector<node_id> initiators{root_node};
    std::uint32_t next_pu = below(5);
    std::uint32_t next_memory = below(5);
    for (std::uint32_t n = 1 + below(40); n > 0; --n) {
      const node_id parent = inner[below(static_cast<std::uint32_t>(inner.size()))];
      node_facts facts = figures();
      const bool in_core = builder.facts(parent).kind == node_kind::core;
      const bool in_device = builder.facts(parent).kind == node_kind::device;
      switch (in_device ? 7 : in_core ? 5 : below(7)) {
        case 0: facts.kind = node_kind::package; break;
        case 1: facts.kind = node_kind::group; break;
        case 2:
          facts.kind = node_kind::cache;
          facts.level = 1 + below(3);
          facts.cache = static_cast<cache_kind>(below(3));
          facts.replaces = static_cast<replacement>(below(5));
          facts.replacement_seed = below(3);
          facts.includes = static_cast<inclusion>(below(4));
          facts.victim_lines = below(3);
          facts.outstanding = below(3);
          facts.outstanding_per_core = below(3);
          facts.bandwidth_per_core = below(3) * 1'000'000'000ULL;
          facts.prefetch_streams = below(3);
          facts.prefetch_lines = below(3);
          facts.prefetch_page_bytes = 4096ULL * below(3);
          memory_figures(facts);
          break;
        case 3:
          facts.kind = node_kind::memory;
          facts.memory = static_cast<memory_technology>(below(8));
          memory_figures(facts);
          facts.rows = {.ranks = below(3),
                        .banks = below(3),
                        .row_bytes = below(3),
                        .policy = static_cast<page_policy>(below(3)),
                        .mapping = static_cast<address_mapping>(below(4)),
                        .trcd_ns = below(3) * 0.5,
                        .trp_ns = below(3) * 0.5,
                        .tras_ns = below(3) * 0.5,
                        .trefi_ns = below(3) * 0.5,
                        .trfc_ns = below(3) * 0.5};
          if (facts.memory == memory_technology::pim) computes(facts);
          facts.os_index = next_memory;
          next_memory += 1 + below(3);
          break;
        case 4:
          facts.kind = node_kind::device;
          facts.device = static_cast<device_kind>(below(12));
          break;
        case 5:
          facts.kind = node_kind::processing_unit;
          facts.os_index = next_pu;
          next_pu += 1 + below(3);
          break;
        case 7: facts.kind = node_kind::agent; break;
        default:
          facts.kind = node_kind::core;
          facts.window = below(3);
          facts.width = below(3);
          facts.cycles.mispredict = below(3);
          facts.itlb = {.entries = below(3),
                        .ways = below(3),
                        .page_bytes = 4096ULL * below(3),
                        .walk_cycles = 30.5,
                        .walk_instructions = below(3)};
          facts.dtlb.entries = below(3);
          facts.dtlb_2m.entries = below(3);
          facts.itlb_1g.ways = below(3);
          facts.stlb = {.entries = below(3), .ways = below(3), .hit_cycles = 0.5 * below(3)};
          facts.walks = static_cast<page_walks>(below(3));
          facts.walk_cache = below(3);
          facts.page_size_bytes = 4096ULL * below(3);
          facts.store_buffer = below(3);
          facts.threads = below(3);
          facts.os_index = 100000 + next_pu++;
          break;
      }
      const node_id id = builder.add(parent, facts);
      if (facts.kind == node_kind::device && below(2) == 0) inner.push_back(id);
      if (facts.kind == node_kind::agent) continue;
      if (facts.kind == node_kind::memory) {
        memories.push_back(id);
      } else {
        initiators.push_back(id);
        if (facts.kind != node_kind::processing_unit && facts.kind != node_kind::device) inner.push_back(id);
      }
    }
    node_facts last;
    last.kind = node_kind::processing_unit;
    last.os_index = next_pu;
    builder.add(root_node, last);  // a machine needs a processor
    if (!memories.empty())
      for (std::uint32_t n = below(20); n > 0; --n) {
        path a;
        a.from = initiators[below(static_cast<std::uint32_t>(initiators.size()))];
        a.memory = memories[below(static_cast<std::uint32_t>(memories.size()))];
        if (below(2) == 0) a.latency_ns = time();
        if (below(3) == 0) a.read_latency_ns = time();
        if (below(3) == 0) a.write_latency_ns = time();
        if (below(2) == 0) a.bandwidth = amount();
        if (below(3) == 0) a.read_bandwidth = amount();
        if (below(3) == 0) a.write_bandwidth = amount();
        if (below(3) == 0) a.distance = 10 + below(30);
        builder.add_path(a);
      }
    for (std::uint32_t n = below(4); n > 0; --n) add_link(builder, inner);
    return std::move(builder).build();
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  std::uint64_t amount() { return below(3) == 0 ? random_() : std::uint64_t{1 + below(64)} << (10 * below(4)); }
  double time() {
    return below(2) == 0 ? 1.0 + below(300) : std::uniform_real_distribution<double>{0.001, 1e6}(random_);
  }

  void add_link(tree_builder& builder, const std::vector<node_id>& inner) {
    link joined;
    if (below(2) == 0) joined.name = text();
    if (below(2) == 0) joined.latency_ns = time();
    if (below(2) == 0) joined.bandwidth = amount();
    for (const node_id end : inner)
      if (below(3) != 0) joined.ends.push_back(end);
    if (below(2) == 0) std::reverse(joined.ends.begin(), joined.ends.end());
    if (below(2) == 0) {
      joined.shape = topology::ring;
      joined.width_bits = below(3) * 16;
      joined.hertz = below(3) * 50'000'000ULL;
      joined.queue = below(3);
    }
    if (joined.ends.size() >= 2) builder.add_link(std::move(joined));
  }

  void memory_figures(node_facts& facts) {
    if (below(4) == 0) facts.density_bytes = amount();
    if (below(4) == 0) facts.read_latency_ns = time();
    if (below(4) == 0) facts.write_latency_ns = time();
    if (below(4) == 0) facts.read_bandwidth = amount();
    if (below(4) == 0) facts.write_bandwidth = amount();
    facts.leakage = static_cast<grade>(below(4));
    facts.read_power = static_cast<grade>(below(4));
    facts.write_power = static_cast<grade>(below(4));
    facts.unit = static_cast<addressability>(below(4));
  }

  void computes(node_facts& facts) {
    pim_figures& made = facts.computes;
    made.design = static_cast<pim_design>(below(5));
    if (made.design == pim_design::none) return;  // its figures are not known
    made.banks = 1 + below(3);
    made.subarrays = 1 + below(3);
    made.rows = 1 + below(3);
    made.columns = 64 + 64 * below(3);
    made.concurrent = below(2);
    const bool has_latches = made.design == pim_design::imi || made.design == pim_design::bitsimd;
    for (double pim_figures::* const ns :
         {&pim_figures::row_read_ns, &pim_figures::row_write_ns,
          has_latches ? &pim_figures::logic_ns : &pim_figures::ap_ns,
          has_latches ? &pim_figures::shift_ns : &pim_figures::aap_ns, &pim_figures::row_count_ns})
      made.*ns = time();
    for (double pim_figures::* const nj : {&pim_figures::row_read_nj, &pim_figures::row_write_nj,
                                           has_latches ? &pim_figures::logic_nj : &pim_figures::ap_nj,
                                           has_latches ? &pim_figures::shift_nj : &pim_figures::aap_nj})
      made.*nj = 0.1 * below(30);
    if (!has_latches) made.extra_row_nj = 0.1 * below(30);
    facts.bytes = made.bytes();
  }

  // Few different figures, so that siblings are often alike.
  node_facts figures() {
    node_facts facts;
    if (below(3) == 0) facts.name = text();
    if (below(3) == 0) facts.bytes = amount();
    if (below(4) == 0) facts.line_bytes = 64;
    if (below(4) == 0) facts.ways = 1 + below(16);
    if (below(4) == 0) facts.hertz = amount();
    if (below(4) == 0) facts.latency_ns = time();
    if (below(4) == 0) facts.bandwidth = amount();
    return facts;
  }

  std::string text() {
    static const char* const texts[] = {"eth0",        "two words",          "quote\"d", "back\\slash", "tab\there",
                                        "line\nbreak", "\u00b5-core \u96ea", "",         "[0]",         "#"};
    return texts[below(10)];
  }

  std::mt19937_64 random_;
};

}  // namespace situ::machine::test
