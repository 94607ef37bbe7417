// A message's header in flight, sent by a core or a device.
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
  std::uint32_t core = 0;  // the core whose tile sends the header
  // if `room` is not null, `words` are written there when the message arrives
  std::byte* room = nullptr;
  std::uint64_t words[2]{};
};

// Sends the header over the network of the core's tile at `begin`, which is the current time.
void send_header(const carried_header& what, time_ps begin);

}  // namespace situ::model
