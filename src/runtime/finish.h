// Termination detection of finish scopes, after Dijkstra and Scholten (1980), one node a scope and place.
//
//   home: finish() ----- message -----> place q: node, engaged by that message
//                                          | tasks run (active), messages sent on (outstanding)
//                                          v both zero
//         outstanding - 1 <-- acknowledge --
//
// Invariants
//   1. Every message of a scope is acknowledged exactly once: with its answer, except that the message which engaged a
//      node is acknowledged when the node is done. So outstanding == 0 at home means that nothing of the scope runs or
//      travels anywhere. A caller that leaves a call which it has sent (a loss, an exception) leaves it counted.
//   2. A node is made before a task first spawns or calls anything, at() included. Only an engaged node may engage
//      another; otherwise nodes could engage each other in a ring that home does not know. A task that starts nothing
//      costs no node, and a task whose calls have all been answered when it ends costs no extra message.
//   3. The home node lives in finish(); others are deleted when done. Keys are home place + 1 (24 bits) | sequence (40
//      bits).
#pragma once

#include <situ/memory/detail/place_context.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/future.h>

#include <cstdint>
#include <exception>

namespace situ::detail {

inline constexpr std::uint32_t finish_sequence_bits = 40;
// Returns the place in whose finish() the scope of this key is open; a number that no place has for a false key.
[[nodiscard]] inline std::uint32_t home_of(std::uint64_t key) noexcept {
  return static_cast<std::uint32_t>(key >> finish_sequence_bits) - 1;
}

struct finish_node {
  std::uint64_t key = 0;
  std::uint64_t active = 0;       // tasks of this place in the scope, including waiting ones
  std::uint64_t outstanding = 0;  // messages sent and not acknowledged
  std::uint64_t failures = 0;     // exceptions that no future has taken
  std::exception_ptr first_failure;
  std::uint32_t parent = 0;  // the place whose message engaged this node
  std::uint32_t failure_epoch = 0;
  bool is_home = false;
  bool acknowledging = false;  // the task that acknowledges is spawned

  [[nodiscard]] bool is_done() const noexcept { return active == 0 && outstanding == 0; }
};

// As node_of(), for a task that has a scope and does not know its node yet.
finish_node* find_or_make_node(task_context& task);
// Returns this place's node of the running task's scope, and makes and engages it if there is none; null for a task
// without a scope.
inline finish_node* node_of(task_context& task) {
  return task.finish_key == 0 || task.node != nullptr ? task.node : find_or_make_node(task);
}
// Drops the node that the task engaged, if only the task is left in it; the answer to the task's message then also
// acknowledges the message. pre: task.engaging.
void disengage_if_alone(task_context& task) noexcept;
// Starts the acknowledgement of a node that is done.
void acknowledge(finish_node& node);
// The caller calls it whenever `active` or `outstanding` has decreased.
inline void note_done(finish_node& node) {
  if (node.is_done() && !node.is_home && !node.acknowledging) [[unlikely]]
    acknowledge(node);
}
// Opens the scope whose home is `node`.
void open_scope(finish_node& node, std::uint64_t sequence);
// Opens the scope of main, at the beginning and again after a loss has broken the previous one, which is abandoned
// together with its tasks.
void open_main_scope(runtime_state& state);
// Waits until the scope of `node` is done; throws the first exception of its tasks that no future has taken, or
// place_lost_error if a place was lost before.
void wait_for_scope(finish_node& node, const wait_note& note);
[[nodiscard]] inline bool is_valid_finish_key(std::uint64_t key) noexcept {
  return key == 0 || home_of(key) < current->place_count;
}
void record_failure(finish_node& node, std::exception_ptr failure) noexcept;

}  // namespace situ::detail
