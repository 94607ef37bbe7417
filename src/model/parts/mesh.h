// A two-dimensional mesh of routers, or a torus. Packets of flits are routed by columns first, then by rows (XY), on a
// torus the shorter way around, and occupy each link on their way for as long as their flits take (wormhole).
//
// A packet is a head flit and its payload. Its head enters the first link when that link is free, the next link one hop
// time later, and so on; the last link leads from the last router to its tile. If a link is busy, the head waits, and
// the packet keeps the previous link for the time of the wait. Without contention, a packet of f flits over h hops
// takes h * hop_time + f * period.
//
// Worked example (period 20 ns, hop time 60 ns, links of 4 bytes): 32 bytes are 9 flits; their way from 0,0 to 1,1
// takes 2 * 60 + 9 * 20 = 300 ns. If a second such packet starts from 0,0 at the same time, its head enters the first
// link 9 * 20 = 180 ns later, and it arrives at 480 ns.
//
// The links between two places are found once. The counters of a link are computed from those of the pairs of places
// when a caller asks: a packet that finds its links free costs one entry in the times of each link, and no more.
//
// Not thread-safe. cost: one busy_times reservation a hop; memory is quadratic in the places.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/rounded_up_division.h"

#include <cstdint>
#include <string>
#include <vector>

namespace situ::model {

// The position of a router.
struct grid_position {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  friend bool operator==(const grid_position&, const grid_position&) = default;
};

class mesh {
 public:
  // label: prefix of the links' names in counters, before their positions; empty for the only mesh.
  explicit mesh(const mesh_spec& spec, std::string label = {});

  // Sends a packet of `bytes` of payload at `now`; returns when its last flit has arrived. A packet from a place to
  // itself takes no time. pre: both positions are on the mesh.
  time_ps send(grid_position from, grid_position to, std::uint32_t bytes, time_ps now);

  // Does the same over a route. route_between() returns the route between two places, which stays valid.
  using route_index = std::uint32_t;
  [[nodiscard]] route_index route_between(grid_position from, grid_position to);
  time_ps send(route_index over, std::uint32_t bytes, time_ps now) noexcept;

  // Returns the number of links between routers on the way.
  [[nodiscard]] std::uint32_t hops(grid_position from, grid_position to) const noexcept;
  // Returns the number of flits of a packet: a head and its payload.
  [[nodiscard]] std::uint32_t flits(std::uint32_t bytes) const noexcept { return 1 + flit_bytes_.ceil(bytes); }

  // Appends an entry for each link that carried a packet: packets, flits, busy and waiting time.
  void append_counters(std::vector<part_counters>& to) const;
  void reset_counters() noexcept;

 private:
  enum direction : std::uint8_t { east, west, north, south, to_tile, directions };
  struct one_link {
    busy_times times;
    time_ps stood = 0;  // time for which blocked packets kept the link
  };
  // The route from a place to another: its links are route_links_[first_link] and the following ones. A route has no
  // links before its first use, or if it leads from a place to itself.
  struct route {
    std::uint32_t first_link = 0;
    std::uint32_t links = 0;
    std::uint64_t packets = 0;
    std::uint64_t flits = 0;
  };
  void find_links(grid_position from, grid_position to, route& of);

  mesh_spec spec_;
  std::string label_;
  rounded_up_division flit_bytes_;
  std::vector<one_link> links_;  // by router, row by row, then by direction
  std::vector<route> routes_;    // from each place to each
  std::vector<std::uint32_t> route_links_;
};

}  // namespace situ::model
