#include "model/parts/mesh.h"

#include <situ/base/detail/assert.h>

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace situ::model {

namespace {

// Returns the steps from a column (or row) to another; positive steps go to the right.
std::int64_t steps(std::uint32_t from, std::uint32_t to, std::uint32_t count, bool is_torus) noexcept {
  const std::int64_t direct = std::int64_t{to} - from;
  if (!is_torus || 2 * std::abs(direct) <= count) return direct;
  return direct > 0 ? direct - count : direct + count;
}

}  // namespace

mesh::mesh(const mesh_spec& spec, std::string label)
    : spec_{spec},
      label_{std::move(label)},
      flit_bytes_{spec.flit_bytes},
      links_(std::size_t{spec.columns} * spec.rows * directions),
      routes_(std::size_t{spec.columns} * spec.rows * spec.columns * spec.rows) {}

std::uint32_t mesh::hops(grid_position from, grid_position to) const noexcept {
  return static_cast<std::uint32_t>(std::abs(steps(from.x, to.x, spec_.columns, spec_.is_torus)) +
                                    std::abs(steps(from.y, to.y, spec_.rows, spec_.is_torus)));
}

time_ps mesh::send(grid_position from, grid_position to, std::uint32_t bytes, time_ps now) {
  return send(route_between(from, to), bytes, now);
}

mesh::route_index mesh::route_between(grid_position from, grid_position to) {
  SITU_ASSERT(1, from.x < spec_.columns && from.y < spec_.rows && to.x < spec_.columns && to.y < spec_.rows,
              "packets go between places on the mesh");
  const route_index index =
      (from.y * spec_.columns + from.x) * spec_.columns * spec_.rows + to.y * spec_.columns + to.x;
  if (routes_[index].links == 0 && from != to) find_links(from, to, routes_[index]);
  return index;
}

time_ps mesh::send(route_index over, std::uint32_t bytes, time_ps now) noexcept {
  route& way = routes_[over];
  if (way.links == 0) return now;
  const std::uint32_t count = flits(bytes);
  ++way.packets;
  way.flits += count;
  const time_ps length = count * spec_.period;
  const time_ps hop_time = spec_.hop_time;
  time_ps head = now;
  const std::uint32_t* const first = route_links_.data() + way.first_link;
  for (std::uint32_t i = 0; i < way.links; ++i) {
    const time_ps begin = links_[first[i]].times.take(head, length);
    if (begin > head && i > 0) {
      one_link& last = links_[first[i - 1]];
      last.stood += last.times.lengthen(head - hop_time + length, begin - head);
    }
    head = begin + hop_time;
  }
  return head - hop_time + length;
}

// Finds the links, by columns first; the last link leads to the tile.
void mesh::find_links(grid_position from, grid_position to, route& of) {
  of.first_link = static_cast<std::uint32_t>(route_links_.size());
  const auto over = [&](direction out) {
    route_links_.push_back((from.y * spec_.columns + from.x) * directions + out);
  };
  const auto go = [&](std::uint32_t& at, std::uint32_t target, std::uint32_t count, direction up, direction down) {
    std::int64_t left = steps(at, target, count, spec_.is_torus);
    for (; left > 0; --left, at = (at + 1) % count) over(up);
    for (; left < 0; ++left, at = (at + count - 1) % count) over(down);
  };
  go(from.x, to.x, spec_.columns, east, west);
  go(from.y, to.y, spec_.rows, south, north);
  over(to_tile);
  of.links = static_cast<std::uint32_t>(route_links_.size()) - of.first_link;
}

void mesh::append_counters(std::vector<part_counters>& to) const {
  static constexpr const char* names[] = {"east", "west", "north", "south", "to tile"};
  struct carried {
    std::uint64_t packets = 0;
    std::uint64_t flits = 0;
  };
  std::vector<carried> sums(links_.size());
  for (const route& way : routes_)
    for (std::uint32_t i = 0; i < way.links; ++i) {
      carried& sum = sums[route_links_[way.first_link + i]];
      sum.packets += way.packets;
      sum.flits += way.flits;
    }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (sums[i].packets == 0) continue;
    const std::size_t router = i / directions;
    to.push_back(
        {fmt::format("{}{},{} {}", label_, router % spec_.columns, router / spec_.columns, names[i % directions]),
         "link",
         {{"packets", sums[i].packets},
          {"flits", sums[i].flits},
          {"busy_ps", sums[i].flits * spec_.period + links_[i].stood},
          {"queueing_ps", links_[i].times.waited()}}});
    to.back().append_too_late(links_[i].times.too_late());
  }
}

void mesh::reset_counters() noexcept {
  for (one_link& one : links_) {
    one.times.reset();
    one.stood = 0;
  }
  for (route& way : routes_) way.packets = way.flits = 0;
}

}  // namespace situ::model
