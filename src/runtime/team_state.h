// What a place knows of one of its teams.
#pragma once

#include <situ/runtime/team.h>

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/barrier.h"

namespace situ::detail {

struct team_state {
  std::uint64_t id;
  std::vector<std::uint32_t> members;  // place indices
  std::uint32_t index;
  team_barrier barrier;
  bool owns_block;                // false for the world, whose block is part of the segment's private area
  std::uint64_t collectives = 0;  // so far; numbers the messages of each
  std::map<std::uint64_t, std::uint64_t> subsets;  // by hash of their members: how often made

  team_state(std::uint64_t team_id, std::vector<std::uint32_t> places, std::uint32_t own_index, barrier_block& block,
             bool owns);
  ~team_state();
  team_state(const team_state&) = delete;
  team_state& operator=(const team_state&) = delete;
};

}  // namespace situ::detail
