#include <situ/stencil/shape.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace situ::stencil {

shape::shape(std::string name, int dims, std::span<const coordinates> points, const coordinates& multiplier,
             const coordinates& divisor) {
  auto c = std::make_shared<contents>();
  c->name = std::move(name);
  c->dims = dims;
  c->points.assign(points.begin(), points.end());
  c->multiplier = multiplier;
  c->divisor = divisor;
  if (dims < 1 || dims > max_dims) {
    throw_error(errc::bad_argument,
                fmt::format("stencil '{}' has {} dimensions; 1 to {} are possible", c->name, dims, max_dims));
  }
  if (c->points.empty()) throw_error(errc::bad_argument, fmt::format("stencil '{}' has no points", c->name));
  for (int d = dims; d < max_dims; ++d) {
    const bool is_used =
        c->multiplier[d] > 1 || c->divisor[d] > 1 ||
        std::any_of(c->points.begin(), c->points.end(), [d](const coordinates& p) { return p[d] != 0; });
    if (is_used)
      throw_error(
          errc::bad_argument,
          fmt::format("stencil '{}' has {} dimensions, but an offset, a multiplier or a divisor of dimension {}",
                      c->name, dims, d));
    c->multiplier[d] = c->divisor[d] = 1;
  }
  c->lowest = c->highest = c->points.front();
  for (int d = 0; d < dims; ++d) {
    if (c->multiplier[d] < 0 || c->divisor[d] < 1) {
      throw_error(errc::bad_argument,
                  fmt::format("stencil '{}', dimension {}: multiplier {} and divisor {}; a multiplier is 0 or more, a "
                              "divisor 1 or more",
                              c->name, d, c->multiplier[d], c->divisor[d]));
    }
    c->plain = c->plain && c->multiplier[d] == 1 && c->divisor[d] == 1;
    for (const auto& p : c->points) {
      c->lowest[d] = std::min(c->lowest[d], p[d]);
      c->highest[d] = std::max(c->highest[d], p[d]);
    }
  }
  c_ = std::move(c);
}

shape::shape(std::string name, int dims, std::initializer_list<coordinates> points, const coordinates& multiplier,
             const coordinates& divisor)
    : shape{std::move(name), dims, std::span<const coordinates>{points.begin(), points.size()}, multiplier, divisor} {}

const shape& shape::point(int dims) {
  static const shape points[max_dims] = {
      {"point", 1, {{}}}, {"point", 2, {{}}}, {"point", 3, {{}}}, {"point", 4, {{}}}, {"point", 5, {{}}}};
  if (dims < 1 || dims > max_dims) throw_error(errc::bad_argument, fmt::format("no stencil has {} dimensions", dims));
  return points[dims - 1];
}

shape shape::star(int dims, int radius) {
  std::vector<coordinates> points{coordinates{}};
  for (int d = 0; d < std::min(dims, max_dims); ++d) {
    for (int r = 1; r <= radius; ++r) {
      for (const int sign : {-1, 1}) {
        coordinates p{};
        p[d] = sign * r;
        points.push_back(p);
      }
    }
  }
  return {fmt::format("star{}d{}", dims, radius), dims, points};
}

shape shape::cube(int dims, int radius) {
  std::vector<coordinates> points{coordinates{}};
  for (int d = 0; d < std::min(dims, max_dims); ++d) {
    std::vector<coordinates> wider;
    for (const auto& p : points) {
      for (int r = -radius; r <= radius; ++r) {
        wider.push_back(p);
        wider.back()[d] = r;
      }
    }
    points = std::move(wider);
  }
  return {fmt::format("cube{}d{}", dims, radius), dims, points};
}

bool shape::contains(const coordinates& offset) const noexcept {
  return std::find(c_->points.begin(), c_->points.end(), offset) != c_->points.end();
}

}  // namespace situ::stencil
