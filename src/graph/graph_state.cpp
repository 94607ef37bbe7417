#include "graph/graph_state.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace situ {
namespace detail {
namespace {

transfer transfer_of_environment() {
  const char* const given = std::getenv("SITU_TRANSFER");
  if (given == nullptr || *given == '\0') return transfer::automatic;
  const std::string_view name{given};
  if (name == "auto") return transfer::automatic;
  if (name == "message") return transfer::message;
  if (name == "pull") return transfer::pull;
  if (name == "offload") return transfer::offload;
  throw_error(errc::bad_argument, fmt::format("SITU_TRANSFER is \"{}\": it is auto, message, pull or offload", name));
}

copy_map map_of_environment() {
  const char* const given = std::getenv("SITU_COPY_MAP");
  if (given == nullptr || *given == '\0') return copy_map::automatic;
  const std::string_view name{given};
  if (name == "auto") return copy_map::automatic;
  if (name == "linear") return copy_map::linear;
  if (name == "hash") return copy_map::hash;
  if (name == "side_table") return copy_map::side_table;
  throw_error(errc::bad_argument, fmt::format("SITU_COPY_MAP is \"{}\": it is auto, linear, hash or side_table", name));
}

}  // namespace

graph_state::graph_state() : default_transfer{transfer_of_environment()}, map{map_of_environment()} {}

graph_state& make_graph_state_here() {
  if (current->runtime == nullptr) throw_no_runtime("a graph is sent");
  std::unique_ptr<place_extension>& slot = current->runtime->graph;
  if (!slot) slot = std::make_unique<graph_state>();
  return static_cast<graph_state&>(*slot);
}

offload_agent& agent_here() {
  graph_state& state = graph_state_here();
  if (!state.agent) state.agent = std::make_unique<offload_agent>(*current);
  return *state.agent;
}

}  // namespace detail

void set_default_transfer(transfer how) { detail::graph_state_here().default_transfer = how; }
transfer default_transfer() { return detail::graph_state_here().default_transfer; }
void on_graph_copy(std::function<void(const graph_copy_event&)> log) {
  detail::graph_state_here().log = std::move(log);
}

}  // namespace situ
