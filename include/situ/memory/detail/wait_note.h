// What code waits for, as whoever waits says it. The scheduler shows it to the others of the job while the wait lasts
// (src/memory/place_status.h). A value on the waiting stack: making one costs a few stores.
#pragma once

#include <cstdint>
#include <source_location>

namespace situ::detail {

enum class wait_kind : std::uint8_t {
  none,
  other,       // nothing is known of it; something outside the job may end it
  turn,        // progress(): ends by itself
  word,        // a word of the place's segment, at address `subject`; whoever maps it may set it
  future,      // a promise, a task or a call provides the value; `peer` where it is a call
  call,        // at(): the answer of place `peer`
  finish,      // the tasks of a scope
  barrier,     // the members of team `subject`; `number` counts the team's collectives
  collective,  // a part of collective `number` of team `subject`, which place `peer` sends
  room,        // room in the channel to place `peer`
  graph,       // place `peer` takes a graph, or an offload agent copies one
  leave,       // the end of the runtime: all places
  survivors,   // round `number` of survivors(): all places that live
};
inline constexpr std::uint32_t wait_kinds = 13;

struct wait_note {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  wait_kind kind = wait_kind::other;
  std::uint32_t peer = nobody;  // the place that ends it
  std::uint64_t subject = 0;
  std::uint64_t number = 0;
  std::source_location where{};  // line 0: unknown
};

// Whether only the places of the job can end such a wait: where all of them stand in such waits, nobody goes on.
[[nodiscard]] constexpr bool is_closed(wait_kind kind) noexcept {
  return kind >= wait_kind::future && kind != wait_kind::graph;
}

}  // namespace situ::detail
