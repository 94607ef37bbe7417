#include "model/parts/mesh.h"

#include <situ/base/detail/assert.h>

#include <fmt/format.h>

namespace situ::model {

mesh::mesh(const mesh_spec& spec) : spec_{spec}, links_(std::size_t{spec.columns} * spec.rows * directions) {}

std::uint32_t mesh::hops(grid_position from, grid_position to) noexcept {
  const auto distance = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
  return distance(from.x, to.x) + distance(from.y, to.y);
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
  const auto over = [&](one_link& next) {
    const time_ps begin = next.times.take(head, length);
    next.flits += count;
    if (begin > head && last != nullptr) last->times.lengthen(last_begin + length, begin - head);
    last = &next;
    last_begin = begin;
    head = begin + spec_.hop_time;
  };
  one_link* at = &links_[(std::size_t{from.y} * spec_.columns + from.x) * directions];
  for (std::uint32_t x = from.x; x < to.x; ++x, at += directions) over(at[east]);
  for (std::uint32_t x = from.x; x > to.x; --x, at -= directions) over(at[west]);
  const std::size_t row = std::size_t{spec_.columns} * directions;
  for (std::uint32_t y = from.y; y < to.y; ++y, at += row) over(at[south]);
  for (std::uint32_t y = from.y; y > to.y; --y, at -= row) over(at[north]);
  over(at[to_tile]);
  return last_begin + length;
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
