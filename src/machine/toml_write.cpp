// Writes trees as TOML. Nodes that differ only in their place become one [[node]] table, a family; see
// docs/design/machine.md.
#include <situ/base/units.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>

#include "machine/pim_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace situ::machine {
namespace {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Writes "0-63", or "0,2,4" as "0-4:2", in the given order.
std::string list_text(const std::vector<std::uint32_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t run = 1;
    const std::uint32_t step = i + 1 < values.size() && values[i + 1] > values[i] ? values[i + 1] - values[i] : 0;
    while (step > 0 && i + run < values.size() && values[i + run] > values[i + run - 1] &&
           values[i + run] - values[i + run - 1] == step)
      ++run;
    if (run == 2 && step != 1) run = 1;  // "0,5" reads better than "0-5:5"
    if (!text.empty()) text += ",";
    text += fmt::format("{}", values[i]);
    if (run > 1) text += fmt::format("-{}", values[i + run - 1]);
    if (run > 1 && step != 1) text += fmt::format(":{}", step);
    i += run;
  }
  return text;
}

struct family {
  std::string id;
  std::vector<node_id> members;       // in tree order
  std::vector<std::uint32_t> counts;  // for each member of the parent family
};

class writer {
 public:
  explicit writer(const tree& machine) : machine_{machine} {}

  std::string run() {
    out_ += fmt::format("name = {}\n", toml_string(machine_.name()));
    if (!machine_.description().empty()) out_ += fmt::format("description = {}\n", toml_string(machine_.description()));
    root_facts();
    where_[root_node] = {"machine", 0};
    write_families({"machine", {root_node}, {}});
    for (std::size_t i = 0; i < machine_.paths().size();) i = write_path(i);
    for (const link& joined : machine_.links()) write_link(joined);
    return std::move(out_);
  }

 private:
  // Nodes of one family may differ only in facts that are written for each.
  static node_facts common(node_facts facts) {
    for (std::uint32_t* own : {&facts.os_index, &facts.x, &facts.y}) *own = *own == no_index ? no_index : 0;
    return facts;
  }

  std::string fresh_id(const node_facts& facts) {
    std::string stem{name(facts.kind)};
    if (facts.kind == node_kind::memory) stem = name(facts.memory);
    if (facts.kind == node_kind::cache)
      stem = facts.cache == cache_kind::memory_side ? "side_cache"
                                                    : fmt::format("l{}{}", facts.level,
                                                                  facts.cache == cache_kind::unified ? ""
                                                                  : facts.cache == cache_kind::data  ? "d"
                                                                                                     : "i");
    if (facts.kind == node_kind::processing_unit) stem = "pu";
    std::string id = stem;
    for (int i = 2; !ids_.insert(id).second; ++i) id = fmt::format("{}_{}", stem, i);
    return id;
  }

  // Takes from each member's children the run at the front that equals the first remaining child, until no child is
  // left.
  void write_families(const family& parent) {
    std::vector<std::size_t> taken(parent.members.size(), 0);
    const auto rest = [&](std::size_t i) {
      return std::span{machine_.at(parent.members[i]).children}.subspan(taken[i]);
    };
    std::vector<family> children;
    for (std::size_t first = 0; first < parent.members.size();) {
      if (rest(first).empty()) {
        ++first;
        continue;
      }
      const node_facts facts = common(machine_.at(rest(first).front()));
      family f{fresh_id(facts), {}, std::vector<std::uint32_t>(parent.members.size(), 0)};
      for (std::size_t i = first; i < parent.members.size(); ++i) {
        while (!rest(i).empty() && common(machine_.at(rest(i).front())) == facts) {
          where_[rest(i).front()] = {f.id, static_cast<std::uint32_t>(f.members.size())};
          f.members.push_back(rest(i).front());
          ++f.counts[i];
          ++taken[i];
        }
      }
      write_node(parent, f);
      children.push_back(std::move(f));
    }
    for (const family& f : children) write_families(f);
  }

  void write_node(const family& parent, const family& f) {
    const node& n = machine_.at(f.members.front());
    out_ += fmt::format("\n[[node]]\nid = {}\n", toml_string(f.id));
    if (parent.id != "machine") out_ += fmt::format("in = {}\n", toml_string(parent.id));
    out_ += fmt::format("kind = \"{}\"\n", name(n.kind));
    if (n.kind == node_kind::memory) out_ += fmt::format("memory = \"{}\"\n", name(n.memory));
    if (n.kind == node_kind::cache) out_ += fmt::format("cache = \"{}\"\n", name(n.cache));
    if (n.kind == node_kind::device && n.device != device_kind::other)
      out_ += fmt::format("device = \"{}\"\n", name(n.device));
    if (n.kind == node_kind::cache) count("level", n.level);
    const bool even = std::adjacent_find(f.counts.begin(), f.counts.end(), std::not_equal_to<>{}) == f.counts.end();
    if (!even) {
      out_ += fmt::format("count = [{}]\n", fmt::join(f.counts, ", "));
    } else if (f.counts.front() != 1) {
      out_ += fmt::format("count = {}\n", f.counts.front());
    }
    if (n.os_index != no_index) {
      std::vector<std::uint32_t> indices;
      for (const node_id id : f.members) indices.push_back(machine_.at(id).os_index);
      out_ += fmt::format("os = \"{}\"\n", list_text(indices));
    }
    if (n.x != no_index) write_positions(f);
    if (!n.name.empty()) out_ += fmt::format("name = {}\n", toml_string(n.name));
    figures(n);
  }

  void write_positions(const family& f) {
    std::vector<std::string> positions;
    for (const node_id id : f.members)
      positions.push_back(fmt::format("\"{},{}\"", machine_.at(id).x, machine_.at(id).y));
    out_ += fmt::format("position = [{}]\n", fmt::join(positions, ", "));
  }

  void figures(const node_facts& n) {
    if (n.bytes > 0) out_ += fmt::format("size = \"{}\"\n", exact_bytes(n.bytes));
    count("line_bytes", n.line_bytes);
    count("ways", n.ways);
    if (n.hertz > 0) out_ += fmt::format("clock = \"{}\"\n", exact_hertz(n.hertz));
    time("latency", n.latency_ns);
    rate("bandwidth", n.bandwidth);
    time("read_latency", n.read_latency_ns);
    time("write_latency", n.write_latency_ns);
    rate("read_bandwidth", n.read_bandwidth);
    rate("write_bandwidth", n.write_bandwidth);
    const auto word = [&](const char* key, auto value) {
      if (value != decltype(value)::unknown) out_ += fmt::format("{} = \"{}\"\n", key, name(value));
    };
    word("leakage", n.leakage);
    word("read_power", n.read_power);
    word("write_power", n.write_power);
    if (n.density_bytes > 0) out_ += fmt::format("density = \"{}\"\n", exact_bytes(n.density_bytes));
    word("addressability", n.unit);
    word("write_policy", n.writes);
    word("allocates_on", n.allocates_on);
    word("replacement", n.replaces);
    count("replacement_seed", n.replacement_seed);
    word("inclusion", n.includes);
    word("coherence", n.coherent_by);
    time("access_time", n.access_ns);
    time("occupancy", n.occupancy_ns);
    count("width_bits", n.width_bits);
    count("burst_bytes", n.burst_bytes);
    count("channels", n.channels);
    count("ranks", n.rows.ranks);
    count("banks", n.rows.banks);
    count("row_bytes", n.rows.row_bytes);
    word("page_policy", n.rows.policy);
    word("address_mapping", n.rows.mapping);
    time("tRCD", n.rows.trcd_ns);
    time("tRP", n.rows.trp_ns);
    time("tRAS", n.rows.tras_ns);
    time("tREFI", n.rows.trefi_ns);
    time("tRFC", n.rows.trfc_ns);
    computes(n.computes);
    count("victim_lines", n.victim_lines);
    count("entries", n.entries);
    cycles(n.cycles);
    for (const auto& [key, of] : tlb_keys) put_tlb(key, n.*of);
    word("page_walks", n.walks);
    count("walk_cache", n.walk_cache);
    if (n.page_size_bytes > 0) out_ += fmt::format("page_size = \"{}\"\n", exact_bytes(n.page_size_bytes));
    if (n.width > 0) out_ += fmt::format("width = {}\n", n.width);
    count("window", n.window);
    count("store_buffer", n.store_buffer);
    count("threads", n.threads);
    count("outstanding", n.outstanding);
    count("outstanding_per_core", n.outstanding_per_core);
    rate("bandwidth_per_core", n.bandwidth_per_core);
    count("prefetch_streams", n.prefetch_streams);
    count("prefetch_lines", n.prefetch_lines);
    if (n.prefetch_page_bytes > 0) out_ += fmt::format("prefetch_page = \"{}\"\n", exact_bytes(n.prefetch_page_bytes));
  }

  void count(std::string_view key, std::uint32_t value) {
    if (value > 0) out_ += fmt::format("{} = {}\n", key, value);
  }

  void cycles(const instruction_cycles& of) {
    std::vector<std::string> parts;
    const auto put = [&](const char* key, double value) {
      if (value > 0) parts.push_back(fmt::format("{} = {}", key, value));
    };
    put("integer", of.integer);
    put("multiply", of.multiply);
    put("divide", of.divide);
    put("floating", of.floating);
    put("branch", of.branch);
    put("call", of.call);
    put("mispredict", of.mispredict);
    if (!parts.empty()) out_ += fmt::format("cycles = {{ {} }}\n", fmt::join(parts, ", "));
  }

  void put_tlb(std::string_view key, const tlb& of) {
    std::vector<std::string> parts;
    if (of.entries > 0) parts.push_back(fmt::format("entries = {}", of.entries));
    if (of.ways > 0) parts.push_back(fmt::format("ways = {}", of.ways));
    if (of.page_bytes > 0) parts.push_back(fmt::format("page = \"{}\"", exact_bytes(of.page_bytes)));
    if (of.walk_cycles > 0) parts.push_back(fmt::format("walk = {}", of.walk_cycles));
    if (of.hit_cycles > 0) parts.push_back(fmt::format("hit = {}", of.hit_cycles));
    if (of.walk_instructions > 0) parts.push_back(fmt::format("walk_instructions = {}", of.walk_instructions));
    if (!parts.empty()) out_ += fmt::format("{} = {{ {} }}\n", key, fmt::join(parts, ", "));
  }

  void computes(const pim_figures& of) {
    if (of == pim_figures{}) return;
    out_ += fmt::format("computes.design = \"{}\"\n", name(of.design));
    for (const auto& [key, value] : pim_counts) count(fmt::format("computes.{}", key), of.*value);
    for (const auto& [key, value] : pim_times) time(fmt::format("computes.{}", key), of.*value);
    for (const auto& [key, value] : pim_energies)
      if (of.*value > 0) out_ += fmt::format("computes.{} = {}\n", key, of.*value);
  }

  void time(std::string_view key, double ns) {
    if (ns > 0) out_ += fmt::format("{} = \"{}\"\n", key, exact_nanoseconds(ns));
  }
  void rate(const char* key, std::uint64_t bandwidth) {
    if (bandwidth > 0) out_ += fmt::format("{} = \"{}\"\n", key, exact_bandwidth(bandwidth));
  }

  void write_link(const link& joined) {
    out_ += fmt::format("\n[[link]]\nkind = \"{}\"\n", name(joined.kind));
    if (!joined.name.empty()) out_ += fmt::format("name = {}\n", toml_string(joined.name));
    time("latency", joined.latency_ns);
    rate("bandwidth", joined.bandwidth);
    if (joined.shape != topology::direct) out_ += fmt::format("topology = \"{}\"\n", name(joined.shape));
    if (joined.carries != traffic::all) out_ += fmt::format("carries = \"{}\"\n", name(joined.carries));
    count("columns", joined.columns);
    count("rows", joined.rows);
    count("width_bits", joined.width_bits);
    if (joined.hertz > 0) out_ += fmt::format("clock = \"{}\"\n", exact_hertz(joined.hertz));
    count("raw_bytes", joined.raw.bytes);
    time("raw_send", joined.raw.send_ns);
    time("raw_receive", joined.raw.receive_ns);
    count("raw_queue", joined.raw.queue);
    count("queue", joined.queue);
    std::vector<std::string> ends;
    for (std::size_t i = 0; i < joined.ends.size();) {
      if (joined.ends[i] == root_node) {
        ends.emplace_back("\"machine\"");
        ++i;
        continue;
      }
      const std::string& id = where_.at(joined.ends[i]).first;
      std::vector<std::uint32_t> numbers;
      for (; i < joined.ends.size() && joined.ends[i] != root_node && where_.at(joined.ends[i]).first == id; ++i)
        numbers.push_back(where_.at(joined.ends[i]).second);
      ends.push_back(fmt::format("\"{}[{}]\"", id, list_text(numbers)));
    }
    out_ += fmt::format("ends = [{}]\n", fmt::join(ends, ", "));
  }

  void root_facts() {
    if (machine_.root().os_index != no_index) out_ += fmt::format("os = \"{}\"\n", machine_.root().os_index);
    figures(machine_.root());
  }

  [[nodiscard]] std::string selector(node_id id) const {
    const auto& [family_id, number] = where_.at(id);
    return id == root_node ? "machine" : fmt::format("{}[{}]", family_id, number);
  }

  // Writes one [[path]] for the records from one node that agree in all but a member number; returns the next record.
  std::size_t write_path(std::size_t first) {
    const auto records = machine_.paths();
    const auto figures_of = [](path a) {
      a.memory = 0;
      return a;
    };
    const std::string& to = where_.at(records[first].memory).first;
    std::vector<std::uint32_t> numbers;
    std::size_t next = first;
    while (next < records.size() && figures_of(records[next]) == figures_of(records[first]) &&
           where_.at(records[next].memory).first == to)
      numbers.push_back(where_.at(records[next++].memory).second);
    const path& a = records[first];
    out_ += fmt::format("\n[[path]]\nfrom = \"{}\"\nto = \"{}[{}]\"\n", selector(a.from), to, list_text(numbers));
    time("latency", a.latency_ns);
    time("read_latency", a.read_latency_ns);
    time("write_latency", a.write_latency_ns);
    rate("bandwidth", a.bandwidth);
    rate("read_bandwidth", a.read_bandwidth);
    rate("write_bandwidth", a.write_bandwidth);
    count("distance", a.distance);
    return next;
  }

  const tree& machine_;
  std::string out_;
  std::set<std::string> ids_{"machine"};
  std::map<node_id, std::pair<std::string, std::uint32_t>> where_;  // family and number of each node
};

}  // namespace

std::string to_toml(const tree& machine) { return writer{machine}.run(); }

}  // namespace situ::machine
