// An accessor: the view of a dataset that a kernel has at one point. u(0, 0) is the value at the point itself, u(1, 0)
// its right neighbour; with several components u.component(c)(1, 0), or u.at(c, 1, 0). A value of a pointer and strides
// that the compiler keeps in registers; it is valid during the call of the kernel.
//
// If compiled with SITU_STENCIL_CHECKED=1, every access is compared with the declared stencil and access mode
// (checked.h). All files of a program that queue loops must be compiled alike; the library itself serves both. cost: a
// load or store at a distance that the compiler mostly knows; when checked, also a search through the points of the
// stencil.
#pragma once

#include <situ/stencil/detail/checked.h>
#include <situ/stencil/detail/load.h>

#include <cstddef>
#include <type_traits>

#ifndef SITU_STENCIL_CHECKED
// Enables the checks of kernels: defined as 1 before any header of Situ, or on the compiler's command line. The default
// is 0.
#define SITU_STENCIL_CHECKED 0
#endif

namespace situ::stencil {

// A dataset of D dimensions, seen from the point at which the kernel runs. A const T can only be read. pre: the offsets
// are points of the stencil that the loop declared.
template <class T, int D, bool Checked = SITU_STENCIL_CHECKED != 0>
class accessor {
 public:
  using value_type = std::remove_const_t<T>;  // type of the dataset's values
  static constexpr int dims = D;
  // T&; for a const number its value (load.h has the reason).
  using reference = std::conditional_t<std::is_const_v<T>, detail::read_of<value_type>, T&>;

  // For Situ itself.
  accessor(T* at, const detail::distances<D>& of) noexcept : at_{at}, of_{of} {}

  // Returns the value at D offsets from the point, dimension 0 first.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] reference operator()(Offsets... offsets) const noexcept {
    return element(at_, offsets...);
  }
  // Returns component c at D offsets from the point.
  template <class... Offsets>
    requires(sizeof...(Offsets) == D)
  [[gnu::always_inline]] reference at(int c, Offsets... offsets) const noexcept {
    return element(at_ + c * of_.component, offsets...);
  }
  // Returns an accessor of component c.
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

// The checked form: returns a stand-in for T&, whose violations throw bad_argument out of the call that executes the
// loop.
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
