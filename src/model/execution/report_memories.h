// The report of a machine's memories: their sizes, their use, what spilled into them, and allocations that were refused.
#pragma once

#include <string>

namespace situ::model {

class engine;

// Returns a table of the memories that were used; empty if the machine's memories have no sizes.
[[nodiscard]] std::string memories_text(engine& ran);
// Returns a warning if allocations were refused, else an empty text.
[[nodiscard]] std::string refusals_text(engine& ran);
// {"used": [{"memory", "bytes", "most_bytes", "bytes_at_end", "spilled": [{"from", "what", "most_bytes"}]}],
//  "refused": {"count", "most_bytes", "first_bytes", "room"}}; null if the machine's memories have no sizes
[[nodiscard]] std::string memories_json(engine& ran);

}  // namespace situ::model
