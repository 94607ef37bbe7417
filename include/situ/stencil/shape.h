// A named stencil: which points of a dataset a kernel touches, seen from the point of the loop. An immutable value that
// is cheap to copy (queued loops keep one); thread-safe.
//
// At loop index i and offset o the coordinate touched in dimension d is
//
//     i[d] * multiplier[d] / divisor[d] + o[d]        (division rounds towards minus infinity)
//
// Multiplier 2 reads a fine grid from a coarse one (restriction), divisor 2 a coarse grid from a fine one
// (prolongation), multiplier 0 a dataset that is one point thick in d, such as a column of x coordinates in a 2-D loop.
// cost: making one allocates; accessors are loads.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/stencil/box.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace situ::stencil {

// A stencil: a name, offsets, multipliers and divisors. Copies share them.
class shape {
 public:
  // A stencil of these offsets. Throws bad_argument: no points, a dimension count outside 1..5, an offset, multiplier
  // or divisor in a dimension that it has not, a negative multiplier, a divisor below 1.
  shape(std::string name, int dims, std::span<const coordinates> points,
        const coordinates& multiplier = {1, 1, 1, 1, 1}, const coordinates& divisor = {1, 1, 1, 1, 1});
  // The same: shape{"five_points", 2, {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}}
  shape(std::string name, int dims, std::initializer_list<coordinates> points,
        const coordinates& multiplier = {1, 1, 1, 1, 1}, const coordinates& divisor = {1, 1, 1, 1, 1});

  // The point of the loop itself. This one is made once. Throws bad_argument, as the next two, unless dims is 1 to 5.
  [[nodiscard]] static const shape& point(int dims);
  // All points at most `radius` away along each axis: 2 * dims * radius + 1 of them.
  [[nodiscard]] static shape star(int dims, int radius);
  // All points of the cube of that radius: 9 in 2-D and 27 in 3-D for radius 1.
  [[nodiscard]] static shape cube(int dims, int radius);

  // Its name, its dimensions, and its offsets.
  [[nodiscard]] const std::string& name() const noexcept { return c_->name; }
  [[nodiscard]] int dims() const noexcept { return c_->dims; }
  [[nodiscard]] std::span<const coordinates> points() const noexcept { return c_->points; }
  // Whether an offset is among them. cost: linear in the points.
  [[nodiscard]] bool contains(const coordinates& offset) const noexcept;
  // The least and the largest offset in dimension d, and what the index is multiplied and divided by.
  [[nodiscard]] int lowest(int d) const noexcept { return c_->lowest[d]; }
  [[nodiscard]] int highest(int d) const noexcept { return c_->highest[d]; }
  [[nodiscard]] int multiplier(int d) const noexcept { return c_->multiplier[d]; }
  [[nodiscard]] int divisor(int d) const noexcept { return c_->divisor[d]; }
  // Equal for copies only: what plans are compared by.
  [[nodiscard]] const void* id() const noexcept { return c_.get(); }

  // The coordinate that offset 0 touches in dimension d at loop index i.
  [[nodiscard]] int map(int d, int i) const noexcept {
    if (c_->plain) return i;
    const std::int64_t n = std::int64_t{i} * c_->multiplier[d];
    const int q = c_->divisor[d];
    return static_cast<int>(n >= 0 ? n / q : -((-n + q - 1) / q));
  }

 private:
  struct contents {
    std::string name;
    int dims = 0;
    std::vector<coordinates> points;
    coordinates multiplier{};
    coordinates divisor{};
    coordinates lowest{};
    coordinates highest{};
    bool plain = true;  // multipliers and divisors are 1
  };
  std::shared_ptr<const contents> c_;
};

}  // namespace situ::stencil
