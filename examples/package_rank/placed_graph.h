// The graph of packages, partitioned over the places: contiguous ranges of vertices, balanced by edges (see graph.h).
// As vertices are numbered by name, a range is a piece of the alphabet, like a volume of an encyclopaedia; and since
// packages that need each other often share the beginning of their names, it cuts about a third fewer edges than a
// partition by hash.
//
//   place 0                       place 1                     ...
//   [0, end) 0ad .. gir1.2-gtk    [first, end) gir1.2-gtk ..
//   rows of dependents, names, marks and out-degrees of these, in the place's segment; a graph_part says where
//
// Building and destroying are collective; the lookups are one-sided. Not thread-safe (a place is one thread).
#pragma once

#include "graph.h"
#include "traffic.h"

#include <situ/situ.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace package_rank {

// What place 0 reads and then hands out.
struct whole_graph {
  const std::vector<std::string>& names;
  const graph& dependencies;
  const graph& dependents;  // its transpose
  std::span<const std::uint8_t> marks;
};

// One place's part. Lies in that place's segment, as does everything that it points to.
struct graph_part {
  vertex first = 0;
  vertex end = 0;
  std::uint64_t edges = 0;
  std::uint64_t name_bytes = 0;
  situ::ptr<std::uint64_t> offsets;  // [vertices + 1]
  situ::ptr<vertex> dependents;      // [edges]: row i, of vertex first + i, is dependents[offsets[i] .. offsets[i + 1])
  situ::ptr<std::uint32_t> out_degrees;   // [vertices]
  situ::ptr<std::uint8_t> marks;          // [vertices]
  situ::ptr<std::uint64_t> name_offsets;  // [vertices + 1]
  situ::ptr<char> names;                  // [name_bytes]

  [[nodiscard]] vertex vertex_count() const noexcept { return end - first; }
  // For the part's own place; `local` counts from `first`.
  [[nodiscard]] std::span<const vertex> row(vertex local) const {
    return {dependents.local() + offsets.local()[local], dependents.local() + offsets.local()[local + 1]};
  }
  [[nodiscard]] std::string_view name(vertex local) const {
    return {names.local() + name_offsets.local()[local], names.local() + name_offsets.local()[local + 1]};
  }
};

class placed_graph {
 public:
  // Place 0 puts each place's part into that place's segment. `whole` is null at all other places.
  placed_graph(const whole_graph* whole, traffic& traffic);
  ~placed_graph();
  placed_graph(const placed_graph&) = delete;
  placed_graph& operator=(const placed_graph&) = delete;

  [[nodiscard]] const graph_part& here() const noexcept { return *mine_.local(); }
  [[nodiscard]] vertex vertex_count() const noexcept { return ranges_.back().end; }
  struct range {
    vertex first, end;
    std::uint64_t edges;
  };
  [[nodiscard]] range range_of(situ::place p) const noexcept { return ranges_[p.index()]; }
  [[nodiscard]] situ::place owner(vertex v) const noexcept;

  // The vertex of a name, asked of the places that could hold it: a binary search over the alphabet, each step an `at`.
  [[nodiscard]] std::optional<vertex> find(const std::string& name) const;
  [[nodiscard]] std::string name(vertex v) const;
  // How many packages need v, and its marks.
  struct facts {
    std::uint64_t dependents;
    std::uint8_t marks;
  };
  [[nodiscard]] facts look_up(vertex v) const;

 private:
  traffic& traffic_;
  situ::ptr<graph_part> mine_;
  std::vector<situ::ptr<graph_part>> parts_;  // by place
  std::vector<range> ranges_;                 // by place
};

}  // namespace package_rank
