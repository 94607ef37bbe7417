// An observer of the requests that reach a machine's memories: what misses all caches, what they write back, and what
// goes past them.
#pragma once

#include <cstdint>

namespace situ::model {

class memory_observer {
 public:
  virtual ~memory_observer() = default;
  // A request reaches a memory, or has missed the cache in front of it. The calls come in the order in which the machine
  // carries requests out, a line's fetch before the write-back of the line that makes room for it. `memory`: an index
  // into machine_spec::memories.
  virtual void on_request(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool writes) = 0;
};

}  // namespace situ::model
