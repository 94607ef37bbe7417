// A named stencil: the points of a dataset that a kernel touches, relative to the point of the loop. An immutable value
// that is cheap to copy (queued loops keep one); thread-safe.
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
  // Makes a stencil of these offsets. Throws bad_argument: no points, a dimension count outside 1..5, an offset,
  // multiplier or divisor in a dimension that the stencil does not have, a negative multiplier, a divisor below 1.
  shape(std::string name, int dims, std::span<const coordinates> points,
        const coordinates& multiplier = {1, 1, 1, 1, 1}, const coordinates& divisor = {1, 1, 1, 1, 1});
  // The same with a list: shape{"five_points", 2, {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}}
  shape(std::string name, int dims, std::initializer_list<coordinates> points,
        const coordinates& multiplier = {1, 1, 1, 1, 1}, const coordinates& divisor = {1, 1, 1, 1, 1});

  // Returns the stencil that is the point of the loop itself, which is made once. Throws bad_argument, as the next two,
  // unless dims is 1 to 5.
  [[nodiscard]] static const shape& point(int dims);
  // Returns all points at most `radius` away along each axis: 2 * dims * radius + 1 points.
  [[nodiscard]] static shape star(int dims, int radius);
  // Returns all points of the cube of that radius: 9 in 2-D and 27 in 3-D for radius 1.
  [[nodiscard]] static shape cube(int dims, int radius);

  // name(), dims() and points() return the parts of the stencil.
  [[nodiscard]] const std::string& name() const noexcept { return c_->name; }
  [[nodiscard]] int dims() const noexcept { return c_->dims; }
  [[nodiscard]] std::span<const coordinates> points() const noexcept { return c_->points; }
  // Returns whether the stencil contains this offset. cost: linear in the points.
  [[nodiscard]] bool contains(const coordinates& offset) const noexcept;
  // lowest() and highest() return the least and the largest offset in dimension d, multiplier() and divisor() the
  // factors of the index.
  [[nodiscard]] int lowest(int d) const noexcept { return c_->lowest[d]; }
  [[nodiscard]] int highest(int d) const noexcept { return c_->highest[d]; }
  [[nodiscard]] int multiplier(int d) const noexcept { return c_->multiplier[d]; }
  [[nodiscard]] int divisor(int d) const noexcept { return c_->divisor[d]; }
  // Returns an identity that only copies share; plans are compared by it.
  [[nodiscard]] const void* id() const noexcept { return c_.get(); }

  // Returns the coordinate that offset 0 touches in dimension d at loop index i.
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
