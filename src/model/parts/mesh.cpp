#include "model/parts/mesh.h"

#include <situ/base/detail/assert.h>

#include <fmt/format.h>

namespace situ::model {

mesh::mesh(const mesh_spec& spec) : spec_{spec}, links_(std::size_t{spec.columns} * spec.rows * directions) {}

std::uint32_t mesh::hops(grid_position from, grid_position to) noexcept {
  const auto distance = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
  return distance(from.x, to.x) + distance(from.y, to.y);
}

mesh::direction mesh::next_direction(grid_position at, grid_position to) noexcept {
  if (at.x != to.x) return at.x < to.x ? east : west;
  if (at.y != to.y) return at.y < to.y ? south : north;
  return to_tile;
}

grid_position mesh::neighbour(grid_position at, direction towards) noexcept {
  switch (towards) {
    case east: return {at.x + 1, at.y};
    case west: return {at.x - 1, at.y};
    case north: return {at.x, at.y - 1};
    case south: return {at.x, at.y + 1};
    default: return at;
  }
}

time_ps mesh::send(grid_position from, grid_position to, std::uint32_t bytes, time_ps now) {
  SITU_ASSERT(1, from.x < spec_.columns && from.y < spec_.rows && to.x < spec_.columns && to.y < spec_.rows,
              "packets go between places on the mesh");
  if (from == to) return now;
  const std::uint32_t count = flits(bytes);
  const time_ps length = count * spec_.period;
  one_link* last = nullptr;
  time_ps last_begin = 0;
  time_ps head = now;
  for (grid_position at = from;;) {
    const direction towards = next_direction(at, to);
    one_link& next = link_at(at, towards);
    const time_ps begin = next.times.take(head, length);
    next.flits += count;
    if (last != nullptr && begin > head) last->times.lengthen(last_begin + length, begin - head);
    if (towards == to_tile) return begin + length;
    last = &next;
    last_begin = begin;
    head = begin + spec_.hop_time;
    at = neighbour(at, towards);
  }
}

void mesh::append_counters(std::vector<part_counters>& to) const {
  static constexpr const char* names[] = {"east", "west", "north", "south", "to tile"};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const one_link& one = links_[i];
    if (one.times.uses() == 0) continue;
    const std::size_t router = i / directions;
    to.push_back({fmt::format("{},{} {}", router % spec_.columns, router / spec_.columns, names[i % directions]),
                  "link",
                  {{"packets", one.times.uses()},
                   {"flits", one.flits},
                   {"busy_ps", one.times.busy()},
                   {"queueing_ps", one.times.waited()}}});
  }
}

void mesh::reset_counters() noexcept {
  for (one_link& one : links_) {
    one.times.reset();
    one.flits = 0;
  }
}

}  // namespace situ::model
