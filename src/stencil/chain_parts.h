// Cuts a chain that does not fit into fast memory into parts. The longer a chain, the larger the skew and with it the
// windows; so each part is a chain with a plan of its own, and reads and writes the data it touches once. A chain of
// mixed dimensions is cut apart, too: tiles are cut in the outermost dimension, which must be the same for all loops.
#pragma once

#include "stencil/stream_plan.h"

#include <cstdint>
#include <vector>

namespace situ::stencil {

struct chain_part {
  std::size_t first = 0, last = 0;        // loops [first, last) of the chain
  std::vector<const dataset_core*> dead;  // cyclic temporaries that the part touches and no later part reads
};

// Returns the parts. Each is two thirds of the longest that fits, so that a third of the memory is left for tiles of
// more than a layer: in 3-D heat with a third of its data, parts of 2/3 took 0.9 to 1.4 s, of 1/3 1.7 s, of 1/1 (tiles
// of one layer) 1.3 to 3.3 s. Throws out_of_memory if a loop alone does not fit, with the loop that needs most. cost:
// about four plans of the chain with its lowest tiles.
[[nodiscard]] std::vector<chain_part> parts_of(chain loops, std::uint64_t fast_bytes);
// Sets `dead` of each part. uses: of each part, as uses_of() returns them.
void find_dead(std::span<chain_part> parts, std::span<const std::span<const data_use>> uses);

// If all loops are a time step that repeats, returns the number of first loops that are whole steps: a chain cut there
// makes the same chains again and again. Otherwise returns the number of all loops. cost: two comparisons a loop.
[[nodiscard]] std::size_t whole_steps(chain loops);

}  // namespace situ::stencil
