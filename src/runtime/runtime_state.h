// The state of the runtime layer of a place beyond its scheduler: calls in flight, finish scopes, teams, parts of
// collectives that have arrived. There is one a place, found through place_context::runtime; only the place's thread
// touches it.
#pragma once

#include <situ/runtime/at.h>
#include <situ/runtime/team.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/float_settings.h"
#include "runtime/finish.h"
#include "runtime/serve.h"

namespace situ::detail {

// A call in flight. The id in its message holds its index and generation (call.cpp), so a late or false answer finds no
// call.
struct alignas(64) call_slot {         // a cache line
  future_state_base* state = nullptr;  // null: free
  accept_answer accept = nullptr;
  finish_node* node = nullptr;         // the node that counts the call; null outside every scope
  std::unique_ptr<held_by_call> held;  // data that the target may read until the call is over
  std::uint32_t generation = 1;
  std::uint32_t target = 0;
  std::uint32_t next_free = 0;
  bool detached = false;
};

// Identifies a part of a collective, or the receiver that waits for it.
struct part_key {
  std::uint64_t team;
  std::uint64_t tag;     // which collective of the team, and which of its steps
  std::uint32_t source;  // index in the team; collective::any_member for a receiver that takes any
  friend auto operator<=>(const part_key&, const part_key&) = default;
};
struct part_receiver : waiter {
  std::size_t missing = 0;              // parts still to come
  const team_state* members = nullptr;  // the end of one of them ends the wait; null: the losses that end any wait do
};

// The state of a module above the runtime for a place. Destroyed after all tasks have ended, while the segment is still
// there.
struct place_extension {
  virtual ~place_extension() = default;
};

struct runtime_state {
  std::vector<call_slot> calls;
  future_state<void> nobody;  // the state of calls whose caller has left
  std::uint32_t free_call = UINT32_MAX;
  std::unordered_map<std::uint64_t, finish_node*> nodes;
  std::uint64_t next_finish = 1;
  std::vector<std::unique_ptr<finish_node>>
      abandoned;                      // scopes left because a place was lost, while tasks were in them
  std::unique_ptr<finish_node> root;  // the scope of main
  task_context main_task;
  std::multimap<part_key, std::vector<std::byte>> parts;  // those that have arrived; parts of one key in order
  std::map<part_key, part_receiver*> receivers;
  std::unordered_map<std::uint64_t, team_state*> teams;  // by team id
  std::unique_ptr<team> world;
  std::unique_ptr<team> rest;  // the last result of survivors(); null before
  std::unique_ptr<team>
      leaving;  // for the barrier at the end, of all places or of `rest`: programs never use this team
  bool has_second_thread = false;               // serve_while() is to use a second thread
  std::unique_ptr<computing_thread> computing;  // null until it is made
  std::unique_ptr<access_context> access;       // for computations on the place's own thread
  std::uint64_t survivors_round = 0;            // number of calls of survivors()
  bool awaits_survivors = false;
  std::unique_ptr<place_extension> graph;
  std::unique_ptr<place_extension> spread;
  std::uint32_t trailing_waits = 0;  // answered calls whose results have not been fetched yet
  float_settings main_settings = float_settings::of_this_thread();  // of main at its last wait; handlers use them
};

// Answers a call to code of a module that this place does not have with an error.
void refuse_call_to_missing_code(message& m);

// Fails the calls whose target is lost.
void end_calls_to_lost_places(runtime_state& state);
// At the end: drops the calls that will never be answered.
void release_calls(runtime_state& state) noexcept;

}  // namespace situ::detail
