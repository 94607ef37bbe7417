// Where a call goes, and how the object graphs among its arguments get there. cost: a route is three words.
#pragma once

#include <situ/memory/place.h>

#include <cstdint>
#include <source_location>

namespace situ {

// How an object graph gets to another place (situ/graph.h). Other arguments are always part of the call's message.
enum class transfer : std::uint8_t {
  automatic,  // by size, and where the graph lies
  message,    // flattened by the sender, checked by the receiver
  pull,       // copied by the receiver, straight from the sender's segment
  offload,    // copied by the agent beside the sender's memory, while both go on
};

// Where a call goes, and how its graphs get there. A place alone is a route.
struct route {
  place to;                            // where the call goes
  transfer how = transfer::automatic;  // of its graphs
  std::source_location where;          // the call's line, for reports of who waits for what
  constexpr route(place target, transfer by = transfer::automatic,
                  std::source_location called = std::source_location::current()) noexcept
      : to{target}, how{by}, where{called} {}
};

// The route to a place by this transfer: at(via(p, transfer::pull), f, head).
[[nodiscard]] constexpr route via(place target, transfer how,
                                  std::source_location called = std::source_location::current()) noexcept {
  return {target, how, called};
}

}  // namespace situ
