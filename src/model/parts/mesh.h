// A two-dimensional mesh of routers: packets of flits go by columns first, then by rows (XY), and keep each link on
// their way for as long as their flits take (wormhole).
//
// A packet is a head flit and its payload. Its head enters the first link when that is free, the next one hop time
// later, and so on; the last link leads from the last router to its tile. Where a link is taken, the head waits, and
// the link behind it is kept so much longer. Uncontended, a packet of f flits over h hops takes h * hop_time + f *
// period.
//
// Worked example (period 20 ns, hop time 60 ns, links of 4 bytes): 32 bytes are 9 flits; from 0,0 to 1,1 they take
// 2 * 60 + 9 * 20 = 300 ns. A second such packet that starts from 0,0 at the same time has its head in the first link
// 9 * 20 = 180 ns later, and is there at 480 ns.
//
// Not thread-safe. cost: a busy_calendar a hop.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"

#include <cstdint>
#include <vector>

namespace situ::model {

// A router's place.
struct grid_position {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  friend bool operator==(const grid_position&, const grid_position&) = default;
};

class mesh {
 public:
  explicit mesh(const mesh_spec& spec);

  // Sends a packet of `bytes` of payload at `now`; returns when its last flit has arrived. From a place to itself
  // nothing moves. pre: both lie on the mesh.
  time_ps send(grid_position from, grid_position to, std::uint32_t bytes, time_ps now);

  // Links between routers on the way.
  [[nodiscard]] static std::uint32_t hops(grid_position from, grid_position to) noexcept;
  // A head and its payload.
  [[nodiscard]] std::uint32_t flits(std::uint32_t bytes) const noexcept {
    return 1 + (bytes + spec_.flit_bytes - 1) / spec_.flit_bytes;
  }

  // One entry for each link over which anything went: packets, flits, busy and waiting time.
  void append_counters(std::vector<part_counters>& to) const;
  void reset_counters() noexcept;

 private:
  enum direction : std::uint8_t { east, west, north, south, to_tile, directions };
  struct one_link {
    busy_calendar times;
    std::uint64_t flits = 0;
  };
  mesh_spec spec_;
  std::vector<one_link> links_;  // of a router, by direction; of all, row by row
};

}  // namespace situ::model
