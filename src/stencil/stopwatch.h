// Measures the time of parts of a chain, for reports and for the choice of tiles.
#pragma once

#include <chrono>

namespace situ::stencil {

using clock = std::chrono::steady_clock;
inline double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

}  // namespace situ::stencil
