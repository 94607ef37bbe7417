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

// Returns the calling place's state. pre: inside a runtime.
[[nodiscard]] graph_state& graph_state_here();
[[nodiscard]] offload_agent& agent_here();
void report_copy(const arena& copy, transfer how, std::uint32_t from, std::uint64_t begin_ns) noexcept;

}  // namespace situ::detail
