// array_view<T, D>: elements in memory, named by the points of a box; what std::mdspan is with a padded layout, whose
// indices may begin anywhere.
//
//   situ::array_view<double, 2> u = array.local_view();
//   u(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
//
// The elements of the last dimension lie side by side. A value that the compiler keeps in registers; it owns nothing,
// and is as thread-safe as a T*. Where assertions of level 2 are on, each index is checked. cost: a load or store, with
// a multiplication for each dimension but the last, which loops move out.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/spread/distribution.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace situ {

// A box of elements, and what lies around it; see above.
template <class T, std::size_t D>
class array_view {
 public:
  // As std::mdspan names them.
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  // For Situ itself: `points` are its elements, `data` that at their low point; `around`, which holds them, is what may
  // be touched. A stride for each dimension but the last.
  array_view(T* data, const box<D>& points, const box<D>& around,
             const std::array<std::ptrdiff_t, D - 1>& strides) noexcept
      : data_{data}, strides_{strides}, points_{points}, around_{around}, origin_{distance(points.low)} {}

  // The element at a point; ghost elements, where there are any, lie outside of points().
  template <std::convertible_to<std::ptrdiff_t>... Indices>
    requires(sizeof...(Indices) == D)
  [[nodiscard, gnu::always_inline]] T& operator()(Indices... indices) const noexcept {
    return (*this)[point<D>{static_cast<std::ptrdiff_t>(indices)...}];
  }
  [[nodiscard, gnu::always_inline]] T& operator[](const point<D>& p) const noexcept {
    SITU_ASSERT(2, around_.contains(p), "an index of a view lies within its part and the ghost zones around it");
    return data_[distance(p) - origin_];
  }

  // The points of its elements, and of those with what lies around them.
  [[nodiscard]] const box<D>& points() const noexcept { return points_; }
  [[nodiscard]] const box<D>& around() const noexcept { return around_; }
  // As std::mdspan has them; data() is the element at the low point.
  [[nodiscard]] static constexpr std::size_t rank() noexcept { return D; }
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return points_.extent(d); }
  [[nodiscard]] std::ptrdiff_t stride(std::size_t d) const noexcept { return d + 1 == D ? 1 : strides_[d]; }
  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t distance(const point<D>& p) const noexcept {
    std::ptrdiff_t n = p[D - 1];
    for (std::size_t d = 0; d + 1 < D; ++d) n += p[d] * strides_[d];
    return n;
  }

  T* data_;
  std::array<std::ptrdiff_t, D - 1> strides_;
  box<D> points_;
  box<D> around_;
  std::ptrdiff_t origin_;
};

}  // namespace situ
