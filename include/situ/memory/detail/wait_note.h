// A wait_note describes what a waiting task waits for. The scheduler shows it to the other places of the job while the
// wait lasts (src/memory/place_status.h). A value on the waiting stack: making one costs a few stores.
#pragma once

#include <cstdint>
#include <source_location>

namespace situ::detail {

enum class wait_kind : std::uint8_t {
  none,
  other,       // of unknown kind; something outside the job may end it
  turn,        // progress(): ends by itself
  word,        // a word of the place's segment, at address `subject`; any process that maps it may set it
  future,      // a promise, a task or a call provides the value; for a call, `peer` is set
  call,        // at(): the answer of place `peer`
  finish,      // the tasks of a scope
  barrier,     // the members of team `subject`; `number` counts the team's collectives
  collective,  // the part of collective `number` of team `subject` that place `peer` sends
  room,        // room in the channel to place `peer`
  graph,       // place `peer` takes a graph, or an offload agent copies one
  leave,       // the end of the runtime: all places
  survivors,   // round `number` of survivors(): all live places
};
inline constexpr std::uint32_t wait_kinds = 13;

struct wait_note {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  wait_kind kind = wait_kind::other;
  std::uint32_t peer = nobody;  // the place that ends the wait
  std::uint64_t subject = 0;
  std::uint64_t number = 0;
  std::source_location where{};  // line 0: unknown
};

// Returns whether only places of the job can end such a wait. If all places wait so, the job is at a standstill.
[[nodiscard]] constexpr bool is_closed(wait_kind kind) noexcept {
  return kind >= wait_kind::future && kind != wait_kind::graph;
}

}  // namespace situ::detail
