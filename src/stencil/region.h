// A set of points of a grid, as boxes that may overlap. For the analysis of chains: a few boxes, whose sides are those
// of loops' ranges.
#pragma once

#include <situ/stencil/box.h>

#include <vector>

namespace situ::stencil {

class region {
 public:
  // Adds a box. Beyond most_boxes the smallest box is dropped: if covers() returns true that is right, but it may
  // return false for a box that is covered.
  void add(box b);
  [[nodiscard]] bool covers(const box& b) const;
  // Returns the points of b that are not in the set, as boxes that do not overlap.
  [[nodiscard]] std::vector<box> gaps(const box& b) const;
  // Finds the longest run of indices in dimension d such that all points of b with these indices are in the set, and
  // returns those points. May be empty.
  [[nodiscard]] box longest_part(const box& b, int d) const;

  static constexpr std::size_t most_boxes = 32;

 private:
  std::vector<box> boxes_;
};

}  // namespace situ::stencil
