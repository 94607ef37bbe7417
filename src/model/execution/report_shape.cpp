#include "model/execution/report_shape.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/parts/modelled_machine.h"

namespace situ::model {
namespace {

using nlohmann::ordered_json;

ordered_json tile_node(const machine_spec& of, const tile_spec& tile) {
  ordered_json made{{"name", tile.name},
                    {"x", tile.x},
                    {"y", tile.y},
                    {"cores", ordered_json::array()},
                    {"caches", ordered_json::array()},
                    {"memories", ordered_json::array()}};
  for (std::uint32_t core = 0; core < of.cores.size(); ++core)
    if (&of.tiles[of.cores[core].tile] == &tile) made["cores"].push_back(fmt::format("core {}", core));
  for (const std::uint32_t cache : tile.caches)
    if (of.caches[cache].victims_of == none)
      made["caches"].push_back({{"name", of.caches[cache].name},
                                {"level", of.caches[cache].level},
                                {"instructions", of.caches[cache].kind == machine::cache_kind::instruction}});
  if (tile.local_memory != none) made["memories"].push_back(of.memories[tile.local_memory].name);
  return made;
}

// Adds a memory of no tile: to the node at the same position of the mesh, or as a node of its own.
void add_memory(ordered_json& nodes, const machine_spec& of, const memory_spec& memory) {
  if (of.mesh.columns > 0)
    for (ordered_json& node : nodes)
      if (node["x"] == memory.x && node["y"] == memory.y) {
        node["memories"].push_back(memory.name);
        return;
      }
  nodes.push_back({{"name", memory.name}, {"x", memory.x}, {"y", memory.y}, {"memories", {memory.name}}});
}

// Returns the nodes of a machine without a specification: tiles of cores, and one memory.
ordered_json flat_nodes(engine& ran) {
  ordered_json nodes = ordered_json::array();
  for (const core& each : ran.cores()) {
    if (nodes.empty() || nodes.back()["tile"] != each.tile)
      nodes.push_back(
          {{"name", fmt::format("tile {}", each.tile)}, {"tile", each.tile}, {"cores", ordered_json::array()}});
    nodes.back()["cores"].push_back(fmt::format("core {}", each.index));
  }
  nodes.push_back({{"name", "memory"}, {"memories", {"memory"}}});
  return nodes;
}

}  // namespace

std::string shape_json(engine& ran) {
  const modelled_machine* const parts = ran.machine().parts();
  if (parts == nullptr) return ordered_json{{"columns", 0}, {"rows", 0}, {"nodes", flat_nodes(ran)}}.dump();
  const machine_spec& of = parts->spec();
  ordered_json nodes = ordered_json::array();
  for (const tile_spec& tile : of.tiles) nodes.push_back(tile_node(of, tile));
  for (const memory_spec& memory : of.memories)
    if (memory.tile == none) add_memory(nodes, of, memory);
  return ordered_json{{"columns", of.mesh.columns}, {"rows", of.mesh.rows}, {"nodes", std::move(nodes)}}.dump();
}

std::string assumed_text(engine& ran) {
  const modelled_machine* const parts = ran.machine().parts();
  if (parts == nullptr || parts->spec().assumed.empty()) return {};
  const std::vector<machine::assumption>& all = parts->spec().assumed;
  std::string text = fmt::format("assumed: {} figures of the machine:", all.size());
  const char* comma = " ";
  for (const machine::assumption& each : all) {
    fmt::format_to(std::back_inserter(text), "{}{} {} ({})", comma, each.figure, each.value, range_of(each));
    comma = ", ";
  }
  return text += '\n';
}

std::string assumed_json(engine& ran) {
  ordered_json made = ordered_json::array();
  if (const modelled_machine* const parts = ran.machine().parts())
    for (const machine::assumption& each : parts->spec().assumed) {
      const bool is_word = each.low.empty();
      made.push_back({{"figure", each.figure},
                      {"value", each.value},
                      {"low", is_word ? ordered_json() : ordered_json(each.low)},
                      {"high", is_word ? ordered_json() : ordered_json(each.high)},
                      {"others", is_word ? ordered_json(each.others) : ordered_json()},
                      {"source", each.source}});
    }
  return made.dump();
}

std::string camat_json(engine& ran) {
  ordered_json made = ordered_json::array();
  if (const modelled_machine* const parts = ran.machine().parts())
    for (std::uint32_t cache = 0; cache < parts->spec().caches.size(); ++cache) {
      const camat_figures of = parts->camat(cache);
      if (of.accesses == 0) continue;
      made.push_back({{"part", parts->spec().caches[cache].name},
                      {"accesses", of.accesses},
                      {"two_parameters_ps", of.two_parameters()},
                      {"five_parameters_ps", of.five_parameters()},
                      {"hit_time_ps", of.hit_time_each()},
                      {"hit_concurrency", of.hit_concurrency()},
                      {"pure_miss_rate", of.pure_miss_rate()},
                      {"pure_miss_penalty_ps", of.pure_miss_penalty()},
                      {"pure_miss_concurrency", of.pure_miss_concurrency()}});
    }
  return made.dump(2);
}

}  // namespace situ::model
