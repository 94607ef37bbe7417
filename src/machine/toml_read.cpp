// Reads trees from TOML; docs/design/machine.md describes the format.
#include <situ/base/error.h>
#include <situ/base/spec_file.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>

#include "machine/toml_assumed.h"
#include "machine/toml_fields.h"
#include "machine/toml_model.h"
#include "machine/toml_pim.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace situ::machine {
namespace {

constexpr node_kind node_kinds[] = {node_kind::package,         node_kind::group,  node_kind::cache,  node_kind::core,
                                    node_kind::processing_unit, node_kind::memory, node_kind::device, node_kind::agent};
constexpr memory_technology memory_technologies[] = {
    memory_technology::dram, memory_technology::hbm,        memory_technology::persistent, memory_technology::cxl,
    memory_technology::gpu,  memory_technology::scratchpad, memory_technology::file,       memory_technology::pim};
constexpr cache_kind cache_kinds[] = {cache_kind::unified, cache_kind::data, cache_kind::instruction,
                                      cache_kind::memory_side};
constexpr grade grades[] = {grade::unknown, grade::low, grade::medium, grade::high};
constexpr addressability units[] = {addressability::unknown, addressability::byte, addressability::block,
                                    addressability::page, addressability::none};
constexpr link_kind link_kinds[] = {link_kind::coherent, link_kind::copying, link_kind::incoherent};
constexpr topology topologies[] = {topology::direct, topology::mesh, topology::torus, topology::full, topology::ring};
constexpr traffic traffics[] = {traffic::all, traffic::messages};
// Keys that only memories and caches have.
constexpr std::string_view memory_keys[] = {"read_latency",    "write_latency", "read_bandwidth",
                                            "write_bandwidth", "leakage",       "read_power",
                                            "write_power",     "density",       "addressability"};
constexpr device_kind device_kinds[] = {device_kind::other,
                                        device_kind::gpu,
                                        device_kind::network,
                                        device_kind::storage,
                                        device_kind::network_adapter,
                                        device_kind::dma,
                                        device_kind::range_operations,
                                        device_kind::graph_writeback,
                                        device_kind::graph_copy,
                                        device_kind::gascore,
                                        device_kind::pams,
                                        device_kind::bridge};

// Parses "0-3,8,16-30:2" in the given order. Returns nullopt if it does not parse or names more than `limit` numbers.
std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text, std::size_t limit) {
  std::vector<std::uint32_t> values;
  const auto number = [&](std::uint32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto skip = [&](char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  };
  do {
    std::uint32_t from = 0;
    std::uint32_t step = 1;
    if (!number(from)) return std::nullopt;
    std::uint32_t to = from;
    if (skip('-') && !number(to)) return std::nullopt;
    if (skip(':') && !number(step)) return std::nullopt;
    if (to < from || step == 0 || (to - from) / step >= limit) return std::nullopt;
    for (std::uint64_t value = from; value <= to; value += step) values.push_back(static_cast<std::uint32_t>(value));
    if (values.size() > limit) return std::nullopt;
  } while (skip(','));
  if (!text.empty()) return std::nullopt;
  return values;
}

class reader {
 public:
  explicit reader(const spec_table& spec) : spec_{spec}, builder_{spec.text("name"), spec.text("description", "")} {}

  tree run(std::vector<std::string>* where, std::vector<assumption>* assumed) {
    spec_.allow_only({"name", "description", "os", "size", "line_bytes", "ways", "clock", "latency", "bandwidth",
                      "coherence", "assumed", "node", "path", "link"});
    read_assumed(spec_, "", assumed_);
    read_figures(spec_, builder_.facts(root_node));
    if (spec_.has("os")) builder_.facts(root_node).os_index = read_os(spec_, 1).front();
    builder_.facts(root_node).coherent_by = parse_kind(spec_, "coherence", "unknown", coherences);
    families_["machine"] = {root_node};
    parents_.push_back(no_node);
    places_.push_back(spec_.where(""));
    for (const spec_table& table : spec_.tables("node")) read_node(table);
    for (const spec_table& table : spec_.tables("path")) read_path(table);
    const std::vector<spec_table> links = spec_.tables("link");
    for (std::size_t i = 0; i < links.size(); ++i) {
      read_links(links[i]);
      read_assumed(links[i], links.size() == 1 ? "link" : fmt::format("link{}", i), assumed_);
    }
    if (assumed != nullptr) *assumed = std::move(assumed_);
    try {
      std::vector<node_id> ids;
      tree made = std::move(builder_).build(&ids);
      if (where != nullptr) {
        where->resize(ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) (*where)[ids[i]] = places_[i];
      }
      return made;
    } catch (const error& bad) {
      spec_.fail("", bad.message());
    }
  }

 private:
  static void read_figures(const spec_table& table, node_facts& facts) {
    facts.bytes = table.bytes("size", 0);
    facts.line_bytes = small(table, "line_bytes");
    facts.ways = small(table, "ways");
    facts.hertz = table.hertz("clock", 0);
    facts.latency_ns = table.nanoseconds("latency", 0);
    facts.bandwidth = table.bandwidth("bandwidth", 0);
  }

  static std::vector<std::uint32_t> read_os(const spec_table& table, std::size_t members) {
    const std::string text = table.text("os");
    const auto indices = parse_list(text, tree_builder::max_nodes);
    if (!indices)
      table.fail("os", fmt::format("\"{}\" is no list of indices; write it like \"0-3,8\" or \"0-6:2\"", text));
    if (indices->size() != members)
      table.fail("os", fmt::format("{} indices for {} nodes; give one for each, in tree order, or none",
                                   indices->size(), members));
    return *indices;
  }

  // Reads how many members of the family hang under each parent.
  static std::vector<std::int64_t> read_counts(const spec_table& table, std::size_t parents) {
    std::vector<std::int64_t> counts;
    if (table.is_array("count")) {
      counts = table.integers("count");
      if (counts.size() != parents)
        table.fail("count",
                   fmt::format("{} numbers for {} parents; give one for each \"{}\", or a single number for all",
                               counts.size(), parents, table.text("in", "machine")));
    } else {
      counts.assign(parents, table.integer("count", 1));
    }
    std::int64_t total = 0;
    for (const std::int64_t count : counts) {
      if (count < 0) table.fail("count", fmt::format("{} nodes cannot be; write 0 or more", count));
      if (count > static_cast<std::int64_t>(tree_builder::max_nodes) - total)
        table.fail("count", fmt::format("more than {} nodes; write a smaller number", tree_builder::max_nodes));
      total += count;
    }
    if (total == 0) table.fail("count", "no nodes at all; remove the table or write a positive number");
    return counts;
  }

  void read_node(const spec_table& table) {
    table.allow_only({"id",
                      "in",
                      "kind",
                      "memory",
                      "cache",
                      "device",
                      "level",
                      "count",
                      "os",
                      "name",
                      "size",
                      "line_bytes",
                      "ways",
                      "clock",
                      "latency",
                      "bandwidth",
                      "read_latency",
                      "write_latency",
                      "read_bandwidth",
                      "write_bandwidth",
                      "leakage",
                      "read_power",
                      "write_power",
                      "density",
                      "addressability",
                      "write_policy",
                      "allocates_on",
                      "replacement",
                      "replacement_seed",
                      "inclusion",
                      "coherence",
                      "position",
                      "width_bits",
                      "access_time",
                      "occupancy",
                      "burst_bytes",
                      "channels",
                      "ranks",
                      "banks",
                      "row_bytes",
                      "page_policy",
                      "address_mapping",
                      "tRCD",
                      "tRP",
                      "tRAS",
                      "tREFI",
                      "tRFC",
                      "computes",
                      "victim_lines",
                      "entries",
                      "cycles",
                      "itlb",
                      "itlb_2m",
                      "itlb_1g",
                      "dtlb",
                      "dtlb_2m",
                      "dtlb_1g",
                      "stlb",
                      "page_walks",
                      "walk_cache",
                      "page_size",
                      "width",
                      "window",
                      "store_buffer",
                      "threads",
                      "outstanding",
                      "outstanding_per_core",
                      "bandwidth_per_core",
                      "prefetch_streams",
                      "prefetch_lines",
                      "prefetch_page",
                      "assumed"});
    node_facts facts;
    facts.kind = parse_kind(table, "kind", table.has("kind") ? "" : table.text("kind"), node_kinds);
    kind_specific(table, facts);
    facts.name = table.text("name", "");
    read_figures(table, facts);
    read_model_figures(table, facts);
    read_computes(table, facts);

    const std::string in = table.text("in", "machine");
    const auto parents = families_.find(in);
    if (parents == families_.end())
      table.fail("in", fmt::format("no [[node]] above has id = \"{}\"; known: {}", in, known_families()));
    const std::string id = table.text("id");
    if (id.empty() || id.find_first_of("[]") != std::string::npos)
      table.fail("id", "an id is a word without brackets; write id = \"core\"");
    if (families_.contains(id)) table.fail("id", fmt::format("\"{}\" is taken; give each [[node]] its own id", id));

    const std::vector<std::int64_t> counts = read_counts(table, parents->second.size());
    std::size_t total = 0;
    for (const std::int64_t count : counts) total += static_cast<std::size_t>(count);
    std::vector<std::uint32_t> indices;
    if (table.has("os")) indices = read_os(table, total);
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> positions = read_positions(table, total);
    std::vector<node_id> members;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::int64_t n = 0; n < counts[i]; ++n) {
        if (!indices.empty()) facts.os_index = indices[members.size()];
        if (!positions.empty()) std::tie(facts.x, facts.y) = positions[members.size()];
        members.push_back(add(table, parents->second[i], facts));
      }
    }
    read_assumed(table, id, assumed_);
    families_.emplace(id, std::move(members));
  }

  node_id add(const spec_table& table, node_id parent, const node_facts& facts) {
    try {
      parents_.push_back(parent);
      places_.push_back(table.where(""));
      return builder_.add(parent, facts);
    } catch (const error& bad) {
      table.fail("kind", bad.message());
    }
  }

  static void kind_specific(const spec_table& table, node_facts& facts) {
    const auto only_for = [&](std::string_view key, node_kind kind) {
      if (facts.kind != kind && table.has(key))
        table.fail(key, fmt::format("belongs to kind = \"{}\", and this is kind = \"{}\"; remove it", name(kind),
                                    name(facts.kind)));
    };
    only_for("memory", node_kind::memory);
    only_for("cache", node_kind::cache);
    only_for("level", node_kind::cache);
    only_for("device", node_kind::device);
    facts.memory = parse_kind(table, "memory", "dram", memory_technologies);
    facts.cache = parse_kind(table, "cache", "unified", cache_kinds);
    facts.device = parse_kind(table, "device", "other", device_kinds);
    facts.level = small(table, "level");
    memory_specific(table, facts);
    if (facts.kind == node_kind::cache && facts.level == 0 && facts.cache != cache_kind::memory_side)
      table.fail("level", "a cache has a level; write level = 1 for the one nearest to the core");
  }

  static void memory_specific(const spec_table& table, node_facts& facts) {
    if (facts.kind != node_kind::memory && facts.kind != node_kind::cache)
      for (const std::string_view key : memory_keys)
        if (table.has(key))
          table.fail(key, fmt::format("belongs to a memory or a cache, and this is kind = \"{}\"; remove it",
                                      name(facts.kind)));
    facts.read_latency_ns = table.nanoseconds("read_latency", 0);
    facts.write_latency_ns = table.nanoseconds("write_latency", 0);
    facts.read_bandwidth = table.bandwidth("read_bandwidth", 0);
    facts.write_bandwidth = table.bandwidth("write_bandwidth", 0);
    facts.leakage = parse_kind(table, "leakage", "unknown", grades);
    facts.read_power = parse_kind(table, "read_power", "unknown", grades);
    facts.write_power = parse_kind(table, "write_power", "unknown", grades);
    facts.density_bytes = table.bytes("density", 0);
    facts.unit = parse_kind(table, "addressability", "unknown", units);
    if (facts.unit == addressability::none && table.has("os"))
      table.fail("os", "a memory with addressability = \"none\" cannot be allocated from; remove one of the two");
  }

  // Parses "1,0": column and row.
  static std::vector<std::pair<std::uint32_t, std::uint32_t>> read_positions(const spec_table& table,
                                                                             std::size_t members) {
    if (!table.has("position")) return {};
    std::vector<std::string> texts;
    if (table.is_array("position")) {
      texts = table.texts("position");
    } else {
      texts.push_back(table.text("position"));
    }
    if (texts.size() != members)
      table.fail("position", fmt::format("{} positions for {} nodes; give one for each, in tree order, or none",
                                         texts.size(), members));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> positions;
    for (const std::string& text : texts) {
      const auto pair = parse_list(text, 2);
      if (!pair || pair->size() != 2 || text.find_first_of("-:") != std::string::npos)
        table.fail("position", fmt::format("\"{}\" is no position; write column and row, like \"1,0\"", text));
      positions.emplace_back(pair->front(), pair->back());
    }
    return positions;
  }

  std::string known_families() const {
    std::string text;
    for (const auto& [id, members] : families_) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", id);
    return text;
  }

  // Selects the nodes of "package", "package[1]", "hbm[0-3]".
  std::vector<node_id> select(const spec_table& table, std::string_view key) const {
    return select(table, key, table.text(key));
  }
  std::vector<node_id> select(const spec_table& table, std::string_view key, const std::string& text) const {
    const auto bracket = text.find('[');
    const auto family = families_.find(text.substr(0, bracket));
    if (family == families_.end())
      table.fail(key, fmt::format("no [[node]] has id = \"{}\"; known: {}", text.substr(0, bracket), known_families()));
    if (bracket == std::string::npos) return family->second;
    const std::size_t size = family->second.size();
    const auto numbers = text.back() == ']'
                             ? parse_list(std::string_view{text}.substr(bracket + 1, text.size() - bracket - 2), size)
                             : std::nullopt;
    if (!numbers)
      table.fail(key, fmt::format("\"{}\" does not select nodes; write it like \"{}[0-1]\", numbers below {}", text,
                                  family->first, size));
    std::vector<node_id> result;
    for (const std::uint32_t number : *numbers) {
      if (number >= size)
        table.fail(
            key, fmt::format("there is no {}[{}]; the last is {}[{}]", family->first, number, family->first, size - 1));
      result.push_back(family->second[number]);
    }
    return result;
  }

  // Tells whether a memory is local to a node: it hangs, its own caches and devices aside, at the node or above
  // it.
  [[nodiscard]] bool is_local(node_id from, node_id memory) const {
    node_id home = parents_[memory];
    while (builder_.facts(home).kind == node_kind::device || builder_.facts(home).cache == cache_kind::memory_side)
      home = parents_[home];
    for (node_id up = from; up != no_node; up = parents_[up])
      if (up == home) return true;
    return false;
  }

  void read_path(const spec_table& table) {
    table.allow_only({"from", "to", "pairs", "latency", "read_latency", "write_latency", "bandwidth", "read_bandwidth",
                      "write_bandwidth", "distance"});
    path record;
    record.latency_ns = table.nanoseconds("latency", 0);
    record.read_latency_ns = table.nanoseconds("read_latency", 0);
    record.write_latency_ns = table.nanoseconds("write_latency", 0);
    record.bandwidth = table.bandwidth("bandwidth", 0);
    record.read_bandwidth = table.bandwidth("read_bandwidth", 0);
    record.write_bandwidth = table.bandwidth("write_bandwidth", 0);
    record.distance = small(table, "distance");
    const std::string pairs = table.text("pairs", "all");
    if (pairs != "all" && pairs != "local" && pairs != "remote")
      table.fail("pairs", fmt::format("\"{}\" is not known; write one of \"all\", \"local\", \"remote\"", pairs));
    const std::vector<node_id> memories = select(table, "to");
    for (const node_id from : select(table, "from")) {
      for (const node_id memory : memories) {
        if (builder_.facts(memory).kind != node_kind::memory)
          table.fail("to", "leads to a node that is no memory; name a kind = \"memory\"");
        if (builder_.facts(from).kind == node_kind::memory)
          table.fail("from", "starts at a memory; name a node with cores, or a device");
        if (pairs != "all" && is_local(from, memory) != (pairs == "local")) continue;
        if (++records_ > max_records)
          table.fail("from", fmt::format("more than {} paths; name larger parts of the machine", max_records));
        record.from = from;
        record.memory = memory;
        builder_.add_path(record);
      }
    }
  }

  void add_link(const spec_table& table, std::string_view key, link joined) {
    if (++records_ > max_records)
      table.fail(key, fmt::format("more than {} links; name larger parts of the machine", max_records));
    try {
      builder_.add_link(std::move(joined));
    } catch (const error& bad) {
      table.fail(key, bad.message());
    }
  }

  // Adds a full link for each parent of the ends, in the order in which the parents first occur.
  void add_full_links(const spec_table& table, const link& of_all) {
    link without_ends = of_all;
    without_ends.ends.clear();
    std::vector<link> made;
    std::map<node_id, std::size_t> of_parent;
    for (const node_id end : of_all.ends) {
      const auto [known, is_new] = of_parent.emplace(parents_[end], made.size());
      if (is_new) made.push_back(without_ends);
      made[known->second].ends.push_back(end);
    }
    for (link& joined : made) {
      if (const node_id first = joined.ends.front(); joined.ends.size() == 1)
        table.fail("ends", fmt::format("a full link joins the ends under each node, and {} is the only one under {}",
                                       member_text(first), member_text(parents_[first])));
      add_link(table, "ends", std::move(joined));
    }
  }

  // Returns "pe[3]": a node's family and its number in it.
  [[nodiscard]] std::string member_text(node_id of) const {
    for (const auto& [id, members] : families_)
      if (const auto found = std::ranges::find(members, of); found != members.end() && of != root_node)
        return fmt::format("{}[{}]", id, found - members.begin());
    return "the machine";
  }

  // Reads one link of all nodes of `ends`, or one of each pair of `from` and `to`.
  void read_links(const spec_table& table) {
    table.allow_only({"kind", "name", "latency", "bandwidth", "ends", "from", "to", "topology", "columns", "rows",
                      "width_bits", "clock", "carries", "raw_bytes", "raw_send", "raw_receive", "raw_queue", "queue",
                      "assumed"});
    link joined;
    joined.kind = parse_kind(table, "kind", table.has("kind") ? "" : table.text("kind"), link_kinds);
    joined.name = table.text("name", "");
    joined.latency_ns = table.nanoseconds("latency", 0);
    joined.bandwidth = table.bandwidth("bandwidth", 0);
    joined.shape = parse_kind(table, "topology", "direct", topologies);
    joined.carries = parse_kind(table, "carries", "all", traffics);
    joined.columns = small(table, "columns");
    joined.rows = small(table, "rows");
    joined.width_bits = small(table, "width_bits");
    joined.hertz = table.hertz("clock", 0);
    joined.raw = {.bytes = small(table, "raw_bytes"),
                  .send_ns = table.nanoseconds("raw_send", 0),
                  .receive_ns = table.nanoseconds("raw_receive", 0),
                  .queue = small(table, "raw_queue")};
    joined.queue = small(table, "queue");
    if (table.has("ends") == (table.has("from") || table.has("to")))
      table.fail(
          "", "a link has either ends = [\"...\"] (one that joins them all), or from = and to = (one for each pair)");
    if (table.has("ends")) {
      for (const std::string& part : table.texts("ends")) {
        const std::vector<node_id> more = select(table, "ends", part);
        joined.ends.insert(joined.ends.end(), more.begin(), more.end());
      }
      if (joined.shape == topology::full) return add_full_links(table, joined);
      add_link(table, "ends", std::move(joined));
      return;
    }
    if (joined.shape == topology::full || joined.shape == topology::ring)
      table.fail("topology",
                 fmt::format("a {} link joins all of its ends; write ends = [\"...\"] in place of from and to",
                             name(joined.shape)));
    const std::vector<node_id> to = select(table, "to");
    for (const node_id from : select(table, "from"))
      for (const node_id other : to) {
        joined.ends = {from, other};
        add_link(table, "to", joined);
      }
  }

  static constexpr std::size_t max_records = std::size_t{1} << 22;
  const spec_table& spec_;
  tree_builder builder_;
  std::map<std::string, std::vector<node_id>> families_;
  std::vector<node_id> parents_;
  std::vector<std::string> places_;  // each node's place in the file
  std::vector<assumption> assumed_;
  std::size_t records_ = 0;
};

}  // namespace

tree parse_toml(std::string_view text, std::string_view file_name, std::vector<std::string>* where,
                std::vector<assumption>* assumed) {
  const spec_table spec = parse_spec(text, file_name);
  return reader{spec}.run(where, assumed);
}

tree read_toml(const std::string& path, std::vector<std::string>* where, std::vector<assumption>* assumed) {
  const spec_table spec = read_spec(path);
  return reader{spec}.run(where, assumed);
}

}  // namespace situ::machine
