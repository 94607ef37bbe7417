#include "placed_graph.h"

#include <algorithm>

namespace package_rank {
namespace {

struct part_size {
  vertex first = 0;
  vertex end = 0;
  std::uint64_t edges = 0;
  std::uint64_t name_bytes = 0;
};

std::vector<part_size> divide(const whole_graph& whole, std::uint32_t places) {
  const std::vector<vertex> boundaries = partition(whole.dependents, places);
  std::vector<part_size> sizes(places);
  for (std::uint32_t p = 0; p < places; ++p) {
    part_size& size = sizes[p];
    size.first = boundaries[p];
    size.end = boundaries[p + 1];
    size.edges = whole.dependents.offsets[size.end] - whole.dependents.offsets[size.first];
    for (vertex v = size.first; v < size.end; ++v) size.name_bytes += whole.names[v].size();
  }
  return sizes;
}

graph_part make_room(const part_size& size) {
  const std::size_t vertices = size.end - size.first;
  return {size.first,
          size.end,
          size.edges,
          size.name_bytes,
          situ::allocate<std::uint64_t>(vertices + 1),
          situ::allocate<vertex>(size.edges),
          situ::allocate<std::uint32_t>(vertices),
          situ::allocate<std::uint8_t>(vertices),
          situ::allocate<std::uint64_t>(vertices + 1),
          situ::allocate<char>(size.name_bytes)};
}

template <class T>
void put_counted(traffic& count, situ::ptr<T> destination, const T* source, std::size_t n) {
  situ::put(destination, source, n);
  count.put(destination.place(), n * sizeof(T));
}

// Writes one place's part, straight into its segment: the place itself takes no part in it.
void hand_out(const whole_graph& whole, const graph_part& part, traffic& count) {
  const vertex vertices = part.vertex_count();
  const std::uint64_t first_edge = whole.dependents.offsets[part.first];
  std::vector<std::uint64_t> offsets(vertices + std::size_t{1}), name_offsets(vertices + std::size_t{1});
  std::vector<std::uint32_t> out_degrees(vertices);
  std::string names;
  for (vertex i = 0; i < vertices; ++i) {
    const vertex v = part.first + i;
    offsets[i + 1] = whole.dependents.offsets[v + 1] - first_edge;
    out_degrees[i] = static_cast<std::uint32_t>(whole.dependencies.row(v).size());
    names += whole.names[v];
    name_offsets[i + 1] = names.size();
  }
  put_counted(count, part.offsets, offsets.data(), offsets.size());
  put_counted(count, part.dependents, whole.dependents.targets.data() + first_edge, part.edges);
  put_counted(count, part.out_degrees, out_degrees.data(), vertices);
  put_counted(count, part.marks, whole.marks.data() + part.first, vertices);
  put_counted(count, part.name_offsets, name_offsets.data(), name_offsets.size());
  put_counted(count, part.names, names.data(), names.size());
}

// One place's answer to "have you this name?"
struct answer {
  enum { before, here, after } where = here;  // of this place's range
  vertex v = no_vertex;                       // when here and there is such a package
};

answer find_in_part(situ::ptr<graph_part> p, const std::string& name) {
  const graph_part& part = *p.local();
  if (name < part.name(0)) return {answer::before};
  if (name > part.name(part.vertex_count() - 1)) return {answer::after};
  vertex low = 0, high = part.vertex_count();
  while (low < high) {
    const vertex middle = low + (high - low) / 2;
    const int comparison = part.name(middle).compare(name);
    if (comparison == 0) return {answer::here, part.first + middle};
    (comparison < 0 ? low : high) = comparison < 0 ? middle + 1 : middle;
  }
  return {};
}

}  // namespace

placed_graph::placed_graph(const whole_graph* whole, traffic& traffic)
    : traffic_{traffic}, mine_{situ::allocate<graph_part>()} {
  const std::uint32_t places = situ::place_count();
  // Place 0's row of the exchange holds a size for every place; the others have nothing to say.
  const part_size size =
      situ::all_to_all(whole != nullptr ? divide(*whole, places) : std::vector<part_size>(places))[0];
  *mine_.local() = make_room(size);
  ranges_ = situ::all_gather(range{size.first, size.end, size.edges});
  parts_ = situ::all_gather(mine_);
  if (whole != nullptr) {
    for (const situ::ptr<graph_part> part : parts_) {
      traffic_.get(part.place(), sizeof(graph_part));
      hand_out(*whole, situ::get(part), traffic_);
    }
  }
  situ::barrier();  // the parts have arrived
}

placed_graph::~placed_graph() {
  const graph_part& part = here();
  situ::deallocate(part.offsets);
  situ::deallocate(part.dependents);
  situ::deallocate(part.out_degrees);
  situ::deallocate(part.marks);
  situ::deallocate(part.name_offsets);
  situ::deallocate(part.names);
  situ::deallocate(mine_);
}

situ::place placed_graph::owner(vertex v) const noexcept {
  const auto found =
      std::upper_bound(ranges_.begin(), ranges_.end(), v, [](vertex value, const range& r) { return value < r.end; });
  return situ::place{static_cast<std::uint32_t>(found - ranges_.begin())};
}

std::optional<vertex> placed_graph::find(const std::string& name) const {
  std::vector<situ::place> candidates;
  for (const situ::place p : situ::places())
    if (range_of(p).first != range_of(p).end) candidates.push_back(p);
  std::size_t low = 0, high = candidates.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const situ::place p = candidates[middle];
    const answer a = situ::at(
        p, [](situ::ptr<graph_part> part, const std::string& wanted) { return find_in_part(part, wanted); },
        parts_[p.index()], name);
    traffic_.call(p, sizeof(parts_[0]) + name.size(), sizeof(answer));
    if (a.where == answer::here) return a.v == no_vertex ? std::nullopt : std::optional{a.v};
    (a.where == answer::before ? high : low) = a.where == answer::before ? middle : middle + 1;
  }
  return std::nullopt;
}

std::string placed_graph::name(vertex v) const {
  const situ::place p = owner(v);
  std::string result = situ::at(
      p,
      [](situ::ptr<graph_part> part, vertex wanted) {
        return std::string{part.local()->name(wanted - part.local()->first)};
      },
      parts_[p.index()], v);
  traffic_.call(p, sizeof(parts_[0]) + sizeof(v), result.size());
  return result;
}

placed_graph::facts placed_graph::look_up(vertex v) const {
  const situ::place p = owner(v);
  traffic_.call(p, sizeof(parts_[0]) + sizeof(v), sizeof(facts));
  return situ::at(
      p,
      [](situ::ptr<graph_part> part, vertex wanted) {
        const vertex local = wanted - part.local()->first;
        return facts{part.local()->row(local).size(), part.local()->marks.local()[local]};
      },
      parts_[p.index()], v);
}

}  // namespace package_rank
