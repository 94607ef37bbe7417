// Everything of the runtime layer that a place knows beyond its scheduler: calls in flight, finish scopes, teams, parts
// of collectives that have arrived. One a place, found through place_context::runtime; touched by its thread alone.
#pragma once

#include <situ/runtime/at.h>
#include <situ/runtime/team.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/finish.h"

namespace situ::detail {

// A call in flight. The id that travels is | generation:32 | index:32 |, so a late or false answer finds nothing.
struct call_slot {
  future_state_base* state = nullptr;  // null: free
  accept_answer accept = nullptr;
  finish_node* node = nullptr;         // that the call is counted in; null outside every scope
  std::unique_ptr<held_by_call> held;  // what its target may read until it is over
  std::uint32_t generation = 1;
  std::uint32_t target = 0;
  std::uint32_t next_free = 0;
  bool detached = false;
};

// A part of a collective: what a member has sent, or who waits for it.
struct part_key {
  std::uint64_t team;
  std::uint64_t tag;     // which collective of the team, and which of its steps
  std::uint32_t source;  // index in the team
  friend bool operator==(const part_key&, const part_key&) = default;
};
struct part_key_hash {
  std::size_t operator()(const part_key& key) const noexcept {
    return (key.team * 0x9e3779b97f4a7c15 ^ key.tag * 0xff51afd7ed558ccd) + key.source;
  }
};
struct part {
  std::vector<std::byte> bytes;
  waiter* receiver = nullptr;
  bool arrived = false;
};

// What a module above the runtime knows of a place. Destroyed after all tasks have ended, while the segment is still
// there.
struct place_extension {
  virtual ~place_extension() = default;
};

struct runtime_state {
  std::vector<call_slot> calls;
  std::uint32_t free_call = UINT32_MAX;
  std::unordered_map<std::uint64_t, finish_node*> nodes;
  std::uint64_t next_finish = 1;
  std::vector<std::unique_ptr<finish_node>>
      abandoned;     // scopes left because a place was lost, while tasks were in them
  finish_node root;  // the scope that main stands in
  task_context main_task;
  std::unordered_map<part_key, part, part_key_hash> parts;
  std::unique_ptr<team> world;
  std::unique_ptr<place_extension> graph;
  std::uint32_t trailing_waits = 0;  // calls that are answered, whose results have not been fetched yet
};

// Handles a call to code of a module that this place does not have: the caller gets the error.
void refuse_call_to_missing_code(message& m);

// Fails the calls whose target is lost.
void end_calls_to_lost_places(runtime_state& state);
// At the end, lets go of those that nobody will answer.
void release_calls(runtime_state& state) noexcept;

}  // namespace situ::detail
