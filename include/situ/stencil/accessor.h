// What a kernel sees of a dataset at one point: u(0, 0) is the value at the point itself, u(1, 0) its right neighbour.
// With several components u.component(c)(1, 0), or u.at(c, 1, 0). A value of a pointer and strides that the compiler
// keeps in registers; it lives as long as the call of the kernel.
//
// Compiled with SITU_STENCIL_CHECKED=1 every access is compared with the declared stencil and access mode (checked.h).
// All files of a program that queue loops must be compiled alike; the library itself serves both. cost: a load or store
// at a distance that the compiler mostly knows; when checked, a search through the points of the stencil besides.
#pragma once

#include <situ/stencil/detail/checked.h>
#include <situ/stencil/detail/load.h>

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
  // T&; of a const number its value (load.h says why).
  using reference = std::conditional_t<std::is_const_v<T>, detail::read_of<value_type>, T&>;

  // For Situ itself.
  accessor(T* at, const detail::distances<D>& of) noexcept : at_{at}, of_{of} {}

  // The value at D offsets from the point, dimension 0 first.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] reference operator()(Offsets... offsets) const noexcept {
    return element(at_, offsets...);
  }
  // The same of component c.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] reference at(int c, Offsets... offsets) const noexcept {
    return element(at_ + c * of_.component, offsets...);
  }
  // Component c as an accessor of its own.
  [[gnu::always_inline]] accessor component(int c) const noexcept { return {at_ + c * of_.component, of_}; }

 private:
  template <class... Offsets>
  [[gnu::always_inline]] reference element(T* at, Offsets... offsets) const noexcept {
    if constexpr (std::is_const_v<T>) {
      return detail::load(at, of_, offsets...);
    } else {
      return at[of_.to(offsets...)];
    }
  }
  T* at_;
  detail::distances<D> of_;
};

// When checked: hands out what stands for a T&, and throws bad_argument out of the call that executes the loop.
template <class T, int D>
class accessor<T, D, true> {
 public:
  using value_type = std::remove_const_t<T>;
  static constexpr int dims = D;

  accessor(T* at, const detail::distances<D>& of, check_site* site, int component = 0) noexcept
      : at_{at}, of_{of}, site_{site}, component_{component} {}

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
  accessor component(int c) const { return {at_, of_, site_, component_ + c}; }

 private:
  checked_reference<T> make(const coordinates& offset, int c) const {
    std::ptrdiff_t n = (component_ + c) * of_.component;
    for (int d = 0; d < D; ++d) n += offset[d] * of_.step[d];
    return {at_ + n, site_, offset, component_ + c};
  }
  T* at_;
  detail::distances<D> of_;
  check_site* site_;
  int component_;
};

}  // namespace situ::stencil
