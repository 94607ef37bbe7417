// Where and of what a benchmark was measured.
#pragma once

#include "results.h"

namespace situ::bench {

// Commit and build type of this program, processor and kernel of this machine, the time now.
[[nodiscard]] provenance provenance_of_this_run();

// Whether this program was built as benchmarks should be: Release, without sanitizers.
[[nodiscard]] bool is_release_build();

}  // namespace situ::bench
