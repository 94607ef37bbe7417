// A message's header on its way, of whoever has written it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/execution/engine.h"

namespace situ::model {

struct carried_header {
  std::atomic<std::uint64_t>* header = nullptr;
  std::uint64_t value = 0;
  std::uint32_t target = 0;  // a place
  std::atomic<std::uint32_t>* sleeping = nullptr;
  std::uint32_t core = 0;  // whose tile sends it
  // what is written into the message as it arrives, where there is room for it
  std::byte* room = nullptr;
  std::uint64_t words[2]{};
};

// Puts it on the network of the core's tile at `begin`, which is now.
void send_header(const carried_header& what, time_ps begin);

}  // namespace situ::model
