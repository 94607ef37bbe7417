// What a kernel sees of a dataset at one point: u(0, 0) is the value at the point itself, u(1, 0) its right neighbour.
// With several components u.component(c)(1, 0), or u.at(c, 1, 0). A value of a pointer and strides that the compiler
// keeps in registers; it lives as long as the call of the kernel.
//
// Compiled with SITU_STENCIL_CHECKED=1 every access is compared with the declared stencil and access mode (checked.h).
// All files of a program that queue loops must be compiled alike; the library itself serves both.
#pragma once

#include <situ/stencil/detail/checked.h>

#include <cstddef>
#include <type_traits>

#ifndef SITU_STENCIL_CHECKED
#define SITU_STENCIL_CHECKED 0
#endif

namespace situ::stencil {

template <class T, int D, bool Checked = SITU_STENCIL_CHECKED != 0>
class accessor {
 public:
  using value_type = std::remove_const_t<T>;
  static constexpr int dims = D;

  accessor(T* at, const std::ptrdiff_t* stride, std::ptrdiff_t component_stride) noexcept
      : at_{at}, component_stride_{component_stride} {
    for (int d = 0; d < D; ++d) stride_[d] = stride[d];
  }

  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] T& operator()(Offsets... offsets) const noexcept {
    return at_[distance(offsets...)];
  }
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] T& at(int c, Offsets... offsets) const noexcept {
    return at_[distance(offsets...) + c * component_stride_];
  }
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
