// A route: the target of a call, and how the object graphs among its arguments travel. cost: a route is three words.
#pragma once

#include <situ/memory/place.h>

#include <cstdint>
#include <source_location>

namespace situ {

// The way of an object graph to another place (situ/graph.h). Other arguments are always part of the call's message.
enum class transfer : std::uint8_t {
  automatic,  // by the size and the location of the graph
  message,    // flattened by the sender, checked by the receiver
  pull,       // copied by the receiver, straight from the sender's segment
  offload,    // copied by the agent next to the sender's memory, while both places go on
};

// The target of a call, and how its graphs travel. A place alone is a route.
struct route {
  place to;                            // the target of the call
  transfer how = transfer::automatic;  // how graphs travel
  std::source_location where;          // the call's line, for reports of waits
  constexpr route(place target, transfer by = transfer::automatic,
                  std::source_location called = std::source_location::current()) noexcept
      : to{target}, how{by}, where{called} {}
};

// Makes the route to a place by this transfer: at(via(p, transfer::pull), f, head).
[[nodiscard]] constexpr route via(place target, transfer how,
                                  std::source_location called = std::source_location::current()) noexcept {
  return {target, how, called};
}

}  // namespace situ
