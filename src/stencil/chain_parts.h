// Where a chain that does not fit into fast memory is cut. The longer a chain, the larger the skew and with it the
// windows; so each part is a chain of its own with a plan of its own, and reads and writes what it touches once. Mixed
// dimensions are cut apart, too: tiles are cut in the outermost dimension, which must be the same for all loops.
#pragma once

#include "stencil/stream_plan.h"

#include <cstdint>
#include <vector>

namespace situ::stencil {

struct chain_part {
  std::size_t first = 0, last = 0;        // loops [first, last) of the chain
  std::vector<const dataset_core*> dead;  // cyclic temporaries that it touches, and no later part reads
};

// Each part is two thirds of the longest that fits, so that a third of the memory is left for tiles of more than a
// layer: in 3-D heat with a third of its data, parts of 2/3 took 0.9 to 1.4 s, of 1/3 1.7 s, of 1/1 (tiles of one
// layer) 1.3 to 3.3 s. Throws out_of_memory if a loop alone does not fit, with the loop that needs most. cost: about
// four plans of the chain with its lowest tiles.
[[nodiscard]] std::vector<chain_part> parts_of(chain loops, std::uint64_t fast_bytes);
// Fills in what is dead. uses: of each part, as uses_of() tells.
void find_dead(std::span<chain_part> parts, std::span<const std::span<const data_use>> uses);

// How many of the first loops are whole time steps, if all loops are a step that repeats: what is cut there makes the
// same chains again and again. All of them if they are not. cost: two comparisons a loop.
[[nodiscard]] std::size_t whole_steps(chain loops);

}  // namespace situ::stencil
