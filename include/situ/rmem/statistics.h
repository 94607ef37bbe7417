// Counters of a server since its start. A plain value.
#pragma once

#include <cstdint>

namespace situ::rmem {

// Operation counters count successful operations. A refused operation increments the counter of its reason instead.
struct statistics {
  std::uint64_t capacity_bytes = 0;  // memory for regions
  std::uint64_t used_bytes = 0;      // memory of regions, in whole pages
  std::uint64_t regions = 0;
  std::uint64_t capabilities = 0;
  std::uint64_t names = 0;
  std::uint64_t clients = 0;  // connected now, and logged in
  std::uint64_t logins = 0;   // accepted logins
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t grants = 0;
  std::uint64_t revocations = 0;
  std::uint64_t refused_logins = 0;  // unknown application, wrong key, wrong bytes
  std::uint64_t denied = 0;          // operations without the capability for them
  std::uint64_t refused = 0;         // operations with values outside their domain, or names that are not linked
  std::uint64_t full = 0;            // allocations, grants and names for which the server had no room
  std::uint64_t bad_messages = 0;    // connections that ended because the received bytes were no request
  std::uint64_t cut_messages = 0;    // connections that ended within a message
  std::uint64_t timeouts = 0;        // connections that took longer than the patience for a message, or for an answer
  std::uint64_t turned_away = 0;     // connections for which the server had no room, and strangers closed to make room
};

}  // namespace situ::rmem
