// array_view<T, D>: a view of elements in memory, indexed by the points of a box. It resembles std::mdspan with a
// padded layout, but its indices may start at any value.
//
//   situ::array_view<double, 2> u = array.local_view();
//   u(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
//
// The elements of the last dimension are contiguous. The view is a value that the compiler keeps in registers; it owns
// nothing and is as thread-safe as a T*. Each index is checked if assertions of level 2 are on. cost: a load or store,
// with a multiplication for each dimension but the last, which compilers hoist out of loops.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/spread/distribution.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace situ {

// A view of a box of elements and of the ghost elements around it; see above.
template <class T, std::size_t D>
class array_view {
 public:
  // The names that std::mdspan has.
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  // For Situ itself: `points` is the box of elements, `data` points to the element at its low corner, and `around`,
  // which contains `points`, is the box that may be accessed. `strides` has one stride for each dimension but the last.
  array_view(T* data, const box<D>& points, const box<D>& around,
             const std::array<std::ptrdiff_t, D - 1>& strides) noexcept
      : data_{data}, strides_{strides}, points_{points}, around_{around}, origin_{distance(points.low)} {}

  // Returns the element at a point. Ghost elements, if there are any, have indices outside of points().
  template <std::convertible_to<std::ptrdiff_t>... Indices>
    requires(sizeof...(Indices) == D)
  [[nodiscard, gnu::always_inline]] T& operator()(Indices... indices) const noexcept {
    return (*this)[point<D>{static_cast<std::ptrdiff_t>(indices)...}];
  }
  [[nodiscard, gnu::always_inline]] T& operator[](const point<D>& p) const noexcept {
    SITU_ASSERT(2, around_.contains(p), "an index of a view lies within its part and the ghost zones around it");
    return data_[distance(p) - origin_];
  }

  // The box of elements, and the box that includes the ghost elements.
  [[nodiscard]] const box<D>& points() const noexcept { return points_; }
  [[nodiscard]] const box<D>& around() const noexcept { return around_; }
  // As in std::mdspan; data() points to the element at the low corner of points().
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
