// What a kernel sees of a dataset at one point: u(0, 0) is the value at the point itself, u(1, 0) its right neighbour.
// With several components u.component(c)(1, 0), or u.at(c, 1, 0). A value of a pointer and strides that the compiler
// keeps in registers; it lives as long as the call of the kernel.
//
// Compiled with SITU_STENCIL_CHECKED=1 every access is compared with the declared stencil and access mode (checked.h).
// All files of a program that queue loops must be compiled alike; the library itself serves both. cost: a load or store
// at a distance that the compiler mostly knows; when checked, a search through the points of the stencil besides.
#pragma once

#include <situ/stencil/detail/checked.h>

#include <cstddef>
#include <type_traits>

#ifndef SITU_STENCIL_CHECKED
// Whether kernels are checked: defined as 1 before any header of Situ, or on the compiler's command line. 0 unless
// given.
#define SITU_STENCIL_CHECKED 0
#endif

namespace situ::stencil {

// A dataset of D dimensions, seen from the point at which the kernel runs. A const T can only be read. pre: the offsets
// are points of the stencil that the loop declared.
template <class T, int D, bool Checked = SITU_STENCIL_CHECKED != 0>
class accessor {
 public:
  using value_type = std::remove_const_t<T>;  // of the dataset
  static constexpr int dims = D;

  // For Situ itself.
  accessor(T* at, const std::ptrdiff_t* stride, std::ptrdiff_t component_stride) noexcept
      : at_{at}, component_stride_{component_stride} {
    for (int d = 0; d < D; ++d) stride_[d] = stride[d];
  }

  // The value at D offsets from the point, dimension 0 first.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] T& operator()(Offsets... offsets) const noexcept {
    return at_[distance(offsets...)];
  }
  // The same of component c.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] T& at(int c, Offsets... offsets) const noexcept {
    return at_[distance(offsets...) + c * component_stride_];
  }
  // Component c as an accessor of its own.
  [[gnu::always_inline]] accessor component(int c) const noexcept {
    return {at_ + c * component_stride_, stride_, component_stride_};
  }

 private:
  template <class... Offsets>
  [[gnu::always_inline]] std::ptrdiff_t distance(Offsets... offsets) const noexcept {
    std::ptrdiff_t n = 0;
    int d = 0;
    ((n += static_cast<std::ptrdiff_t>(offsets) * stride_[d++]), ...);
    return n;
  }
  T* at_;
  std::ptrdiff_t stride_[D];
  std::ptrdiff_t component_stride_;
};

// When checked: hands out what stands for a T&, and throws bad_argument out of the call that executes the loop.
template <class T, int D>
class accessor<T, D, true> {
 public:
  using value_type = std::remove_const_t<T>;
  static constexpr int dims = D;

  accessor(T* at, const std::ptrdiff_t* stride, std::ptrdiff_t component_stride, check_site* site,
           int component = 0) noexcept
      : at_{at}, component_stride_{component_stride}, site_{site}, component_{component} {
    for (int d = 0; d < D; ++d) stride_[d] = stride[d];
  }

  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  checked_reference<T> operator()(Offsets... offsets) const {
    return make({static_cast<int>(offsets)...}, 0);
  }
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  checked_reference<T> at(int c, Offsets... offsets) const {
    return make({static_cast<int>(offsets)...}, c);
  }
  accessor component(int c) const { return {at_, stride_, component_stride_, site_, component_ + c}; }

 private:
  checked_reference<T> make(const coordinates& offset, int c) const {
    std::ptrdiff_t n = (component_ + c) * component_stride_;
    for (int d = 0; d < D; ++d) n += offset[d] * stride_[d];
    return {at_ + n, site_, offset, component_ + c};
  }
  T* at_;
  std::ptrdiff_t stride_[D];
  std::ptrdiff_t component_stride_;
  check_site* site_;
  int component_;
};

}  // namespace situ::stencil
