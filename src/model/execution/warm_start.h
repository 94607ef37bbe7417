// Runs that begin with the caches that another run has left (`situ model run --save`, `--warm`).
#pragma once

#include <string>

namespace situ::model {

class engine;

// Returns the content of a file with the engine's caches, TLBs, prefetchers and branch predictors.
[[nodiscard]] std::string saved_state(const engine& of);
// Reads such a file, and has the engine begin with it: at once, or when its fast forward ends. Throws bad_file with the
// file's name.
void begin_with_state(engine& in, const std::string& file);

}  // namespace situ::model
