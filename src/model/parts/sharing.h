// What cores of a tile take from each other: counts, and an observer.
#pragma once

#include <cstdint>

namespace situ::model {

// A core's misses and writes that only happen since another core shares the line.
struct sharing_counts {
  std::uint64_t coherence_misses = 0;  // fetches of a line that the first cache has last lost to another core's access
  std::uint64_t upgrades = 0;          // writes to a line that the first cache held, but only to read
  friend bool operator==(const sharing_counts&, const sharing_counts&) = default;
};

// An observer of lines that a core takes from others.
class sharing_observer {
 public:
  virtual ~sharing_observer() = default;
  // The first data cache of `core` loses the line of this address, or the right to write it, to the core whose access
  // the machine handles.
  virtual void on_taken(std::uint32_t core, std::uint64_t address) = 0;
};

}  // namespace situ::model
