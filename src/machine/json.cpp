#include <situ/machine/draw.h>

#include <nlohmann/json.hpp>

namespace situ::machine {
namespace {

using nlohmann::ordered_json;

template <class T>
void put_known(ordered_json& to, const char* key, T value) {
  if (value != T{}) to[key] = value;
}

void put_tlb(ordered_json& out, std::string_view key, const tlb& of) {
  if (of == tlb{}) return;
  ordered_json& made = out[std::string{key}];
  put_known(made, "entries", of.entries);
  put_known(made, "ways", of.ways);
  put_known(made, "page_bytes", of.page_bytes);
  put_known(made, "walk_cycles", of.walk_cycles);
  put_known(made, "hit_cycles", of.hit_cycles);
}

void put_banks(ordered_json& out, const dram_banks& of) {
  put_known(out, "ranks", of.ranks);
  put_known(out, "banks", of.banks);
  put_known(out, "row_bytes", of.row_bytes);
  if (of.policy != page_policy::unknown) out["page_policy"] = name(of.policy);
  if (of.mapping != address_mapping::unknown) out["address_mapping"] = name(of.mapping);
  put_known(out, "tRCD_ns", of.trcd_ns);
  put_known(out, "tRP_ns", of.trp_ns);
  put_known(out, "tRAS_ns", of.tras_ns);
  put_known(out, "tREFI_ns", of.trefi_ns);
  put_known(out, "tRFC_ns", of.trfc_ns);
}

void put_model_figures(ordered_json& out, const node& n) {
  if (n.writes != write_policy::unknown) out["write_policy"] = name(n.writes);
  if (n.allocates_on != line_allocation::unknown) out["allocates_on"] = name(n.allocates_on);
  if (n.replaces != replacement::unknown) out["replacement"] = name(n.replaces);
  put_known(out, "replacement_seed", n.replacement_seed);
  if (n.includes != inclusion::unknown) out["inclusion"] = name(n.includes);
  if (n.coherent_by != coherence::unknown) out["coherence"] = name(n.coherent_by);
  if (n.x != no_index) out["position"] = {n.x, n.y};
  put_known(out, "width_bits", n.width_bits);
  put_known(out, "access_ns", n.access_ns);
  put_known(out, "occupancy_ns", n.occupancy_ns);
  put_known(out, "burst_bytes", n.burst_bytes);
  put_known(out, "channels", n.channels);
  put_banks(out, n.rows);
  put_known(out, "victim_lines", n.victim_lines);
  put_known(out, "entries", n.entries);
  put_known(out, "width", n.width);
  put_known(out, "window", n.window);
  put_known(out, "store_buffer", n.store_buffer);
  put_known(out, "threads", n.threads);
  put_known(out, "outstanding", n.outstanding);
  put_known(out, "outstanding_per_core", n.outstanding_per_core);
  put_known(out, "bandwidth_per_core", n.bandwidth_per_core);
  put_known(out, "prefetch_streams", n.prefetch_streams);
  put_known(out, "prefetch_lines", n.prefetch_lines);
  put_known(out, "prefetch_page_bytes", n.prefetch_page_bytes);
  for (const auto& [key, of] : tlb_keys) put_tlb(out, key, n.*of);
  if (n.walks != page_walks::unknown) out["page_walks"] = name(n.walks);
  put_known(out, "walk_cache", n.walk_cache);
  put_known(out, "page_size_bytes", n.page_size_bytes);
  if (n.cycles == instruction_cycles{}) return;
  ordered_json& cycles = out["cycles"];
  put_known(cycles, "integer", n.cycles.integer);
  put_known(cycles, "multiply", n.cycles.multiply);
  put_known(cycles, "divide", n.cycles.divide);
  put_known(cycles, "floating", n.cycles.floating);
  put_known(cycles, "branch", n.cycles.branch);
  put_known(cycles, "call", n.cycles.call);
  put_known(cycles, "mispredict", n.cycles.mispredict);
}

ordered_json node_json(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  ordered_json out;
  out["id"] = id;
  if (n.parent != no_node) out["parent"] = n.parent;
  out["label"] = machine.label(id);
  out["kind"] = name(n.kind);
  if (n.kind == node_kind::memory) out["memory"] = name(n.memory);
  if (n.kind == node_kind::cache) out["cache"] = name(n.cache);
  if (n.kind == node_kind::device) out["device"] = name(n.device);
  put_known(out, "level", n.level);
  if (n.os_index != no_index) out["os_index"] = n.os_index;
  if (!n.name.empty()) out["name"] = n.name;
  put_known(out, "bytes", n.bytes);
  put_known(out, "line_bytes", n.line_bytes);
  put_known(out, "ways", n.ways);
  put_known(out, "hertz", n.hertz);
  put_known(out, "latency_ns", n.latency_ns);
  put_known(out, "bandwidth", n.bandwidth);
  put_known(out, "read_latency_ns", n.read_latency_ns);
  put_known(out, "write_latency_ns", n.write_latency_ns);
  put_known(out, "read_bandwidth", n.read_bandwidth);
  put_known(out, "write_bandwidth", n.write_bandwidth);
  put_known(out, "density_bytes", n.density_bytes);
  if (n.leakage != grade::unknown) out["leakage"] = name(n.leakage);
  if (n.read_power != grade::unknown) out["read_power"] = name(n.read_power);
  if (n.write_power != grade::unknown) out["write_power"] = name(n.write_power);
  if (n.unit != addressability::unknown) out["addressability"] = name(n.unit);
  put_model_figures(out, n);
  out["processors"] = n.processors.to_string();
  return out;
}

ordered_json path_json(const path& record) {
  ordered_json out;
  out["from"] = record.from;
  out["memory"] = record.memory;
  put_known(out, "latency_ns", record.latency_ns);
  put_known(out, "read_latency_ns", record.read_latency_ns);
  put_known(out, "write_latency_ns", record.write_latency_ns);
  put_known(out, "bandwidth", record.bandwidth);
  put_known(out, "read_bandwidth", record.read_bandwidth);
  put_known(out, "write_bandwidth", record.write_bandwidth);
  put_known(out, "distance", record.distance);
  return out;
}

ordered_json link_json(const link& joined) {
  ordered_json out;
  out["kind"] = name(joined.kind);
  if (!joined.name.empty()) out["name"] = joined.name;
  put_known(out, "latency_ns", joined.latency_ns);
  put_known(out, "bandwidth", joined.bandwidth);
  if (joined.shape != topology::direct) out["topology"] = name(joined.shape);
  if (joined.carries != traffic::all) out["carries"] = name(joined.carries);
  put_known(out, "columns", joined.columns);
  put_known(out, "rows", joined.rows);
  put_known(out, "width_bits", joined.width_bits);
  put_known(out, "hertz", joined.hertz);
  out["ends"] = joined.ends;
  return out;
}

}  // namespace

std::string to_json(const tree& machine, int indent) {
  ordered_json out;
  out["name"] = machine.name();
  out["description"] = machine.description();
  out["nodes"] = ordered_json::array();
  for (node_id id = 0; id < machine.nodes().size(); ++id) out["nodes"].push_back(node_json(machine, id));
  out["paths"] = ordered_json::array();
  for (const path& record : machine.paths()) out["paths"].push_back(path_json(record));
  out["links"] = ordered_json::array();
  for (const link& joined : machine.links()) out["links"].push_back(link_json(joined));
  return out.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace situ::machine
