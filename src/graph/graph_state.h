// A place's state for graphs: its default transfer, its log, its agent. Made when first needed, destroyed with the
// runtime.
#pragma once

#include <situ/graph/transfer.h>

#include <functional>
#include <memory>

#include "graph/agent.h"
#include "runtime/runtime_state.h"

namespace situ::detail {

struct graph_state final : place_extension {
  transfer default_transfer;
  copy_map map;  // for graphs that are sent: $SITU_COPY_MAP
  std::function<void(const graph_copy_event&)> log;
  std::unique_ptr<offload_agent> agent;
  graph_state();
};

// Makes the calling place's state if it has none. Throws no_runtime outside a runtime.
[[nodiscard]] graph_state& make_graph_state_here();
// Returns the calling place's state. Throws no_runtime outside a runtime.
[[nodiscard]] inline graph_state& graph_state_here() {
  const runtime_state* const here = current->runtime;
  return here != nullptr && here->graph ? static_cast<graph_state&>(*here->graph) : make_graph_state_here();
}
// Returns the calling place's agent, made on first use.
[[nodiscard]] offload_agent& agent_here();

}  // namespace situ::detail
