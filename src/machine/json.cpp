#include "base/json.h"

#include <situ/machine/draw.h>

#include <fmt/format.h>

#include "machine/pim_keys.h"

#include <string>
#include <string_view>
#include <utility>

namespace situ::machine {
namespace {

using detail::json;

template <class T>
void put_known(json& to, std::string_view key, T value) {
  if (value != T{}) to.set(key, value);
}

void put_tlb(json& out, std::string_view key, const tlb& of) {
  if (of == tlb{}) return;
  json made;
  put_known(made, "entries", of.entries);
  put_known(made, "ways", of.ways);
  put_known(made, "page_bytes", of.page_bytes);
  put_known(made, "walk_cycles", of.walk_cycles);
  put_known(made, "hit_cycles", of.hit_cycles);
  put_known(made, "walk_instructions", of.walk_instructions);
  out.set(key, std::move(made));
}

void put_banks(json& out, const dram_banks& of) {
  put_known(out, "ranks", of.ranks);
  put_known(out, "banks", of.banks);
  put_known(out, "row_bytes", of.row_bytes);
  if (of.policy != page_policy::unknown) out.set("page_policy", name(of.policy));
  if (of.mapping != address_mapping::unknown) out.set("address_mapping", name(of.mapping));
  put_known(out, "tRCD_ns", of.trcd_ns);
  put_known(out, "tRP_ns", of.trp_ns);
  put_known(out, "tRAS_ns", of.tras_ns);
  put_known(out, "tREFI_ns", of.trefi_ns);
  put_known(out, "tRFC_ns", of.trfc_ns);
}

void put_computes(json& out, const pim_figures& of) {
  if (of == pim_figures{}) return;
  json made;
  made.set("design", name(of.design));
  for (const auto& [key, value] : pim_counts) put_known(made, key, of.*value);
  for (const auto& [key, value] : pim_times) put_known(made, fmt::format("{}_ns", key), of.*value);
  for (const auto& [key, value] : pim_energies) put_known(made, key, of.*value);
  out.set("computes", std::move(made));
}

void put_model_figures(json& out, const node& n) {
  if (n.writes != write_policy::unknown) out.set("write_policy", name(n.writes));
  if (n.allocates_on != line_allocation::unknown) out.set("allocates_on", name(n.allocates_on));
  if (n.replaces != replacement::unknown) out.set("replacement", name(n.replaces));
  put_known(out, "replacement_seed", n.replacement_seed);
  if (n.includes != inclusion::unknown) out.set("inclusion", name(n.includes));
  if (n.coherent_by != coherence::unknown) out.set("coherence", name(n.coherent_by));
  if (n.x != no_index) out.set("position", std::vector{n.x, n.y});
  put_known(out, "width_bits", n.width_bits);
  put_known(out, "access_ns", n.access_ns);
  put_known(out, "occupancy_ns", n.occupancy_ns);
  put_known(out, "burst_bytes", n.burst_bytes);
  put_known(out, "channels", n.channels);
  put_banks(out, n.rows);
  put_computes(out, n.computes);
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
  if (n.walks != page_walks::unknown) out.set("page_walks", name(n.walks));
  put_known(out, "walk_cache", n.walk_cache);
  put_known(out, "page_size_bytes", n.page_size_bytes);
  if (n.cycles == instruction_cycles{}) return;
  json cycles;
  put_known(cycles, "integer", n.cycles.integer);
  put_known(cycles, "multiply", n.cycles.multiply);
  put_known(cycles, "divide", n.cycles.divide);
  put_known(cycles, "floating", n.cycles.floating);
  put_known(cycles, "branch", n.cycles.branch);
  put_known(cycles, "call", n.cycles.call);
  put_known(cycles, "mispredict", n.cycles.mispredict);
  out.set("cycles", std::move(cycles));
}

json node_json(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  json out;
  out.set("id", id);
  if (n.parent != no_node) out.set("parent", n.parent);
  out.set("label", machine.label(id));
  out.set("kind", name(n.kind));
  if (n.kind == node_kind::memory) out.set("memory", name(n.memory));
  if (n.kind == node_kind::cache) out.set("cache", name(n.cache));
  if (n.kind == node_kind::device) out.set("device", name(n.device));
  put_known(out, "level", n.level);
  if (n.os_index != no_index) out.set("os_index", n.os_index);
  if (!n.name.empty()) out.set("name", n.name);
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
  if (n.leakage != grade::unknown) out.set("leakage", name(n.leakage));
  if (n.read_power != grade::unknown) out.set("read_power", name(n.read_power));
  if (n.write_power != grade::unknown) out.set("write_power", name(n.write_power));
  if (n.unit != addressability::unknown) out.set("addressability", name(n.unit));
  put_model_figures(out, n);
  out.set("processors", n.processors.to_string());
  return out;
}

json path_json(const path& record) {
  json out;
  out.set("from", record.from);
  out.set("memory", record.memory);
  put_known(out, "latency_ns", record.latency_ns);
  put_known(out, "read_latency_ns", record.read_latency_ns);
  put_known(out, "write_latency_ns", record.write_latency_ns);
  put_known(out, "bandwidth", record.bandwidth);
  put_known(out, "read_bandwidth", record.read_bandwidth);
  put_known(out, "write_bandwidth", record.write_bandwidth);
  put_known(out, "distance", record.distance);
  return out;
}

json link_json(const link& joined) {
  json out;
  out.set("kind", name(joined.kind));
  if (!joined.name.empty()) out.set("name", joined.name);
  put_known(out, "latency_ns", joined.latency_ns);
  put_known(out, "bandwidth", joined.bandwidth);
  if (joined.shape != topology::direct) out.set("topology", name(joined.shape));
  if (joined.carries != traffic::all) out.set("carries", name(joined.carries));
  put_known(out, "columns", joined.columns);
  put_known(out, "rows", joined.rows);
  put_known(out, "width_bits", joined.width_bits);
  put_known(out, "hertz", joined.hertz);
  put_known(out, "raw_bytes", joined.raw.bytes);
  put_known(out, "raw_send_ns", joined.raw.send_ns);
  put_known(out, "raw_receive_ns", joined.raw.receive_ns);
  put_known(out, "raw_queue", joined.raw.queue);
  put_known(out, "queue", joined.queue);
  out.set("ends", joined.ends);
  return out;
}

}  // namespace

std::string to_json(const tree& machine, int indent) {
  json nodes = json::array(), paths = json::array(), links = json::array();
  for (node_id id = 0; id < machine.nodes().size(); ++id) nodes.push(node_json(machine, id));
  for (const path& record : machine.paths()) paths.push(path_json(record));
  for (const link& joined : machine.links()) links.push(link_json(joined));
  return json{{"name", machine.name()},
              {"description", machine.description()},
              {"nodes", std::move(nodes)},
              {"paths", std::move(paths)},
              {"links", std::move(links)}}
      .text(indent, json::bad_utf8::replaced);
}

}  // namespace situ::machine
