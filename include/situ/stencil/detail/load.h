// Turns a kernel's reads into loads.
//
// An upwind kernel chooses a neighbour and then reads it: u(upwind, 0). If the processor computes the address, such a
// load keeps gcc from vectorizing the loop. A choice among values at addresses that the compiler knows does not: the
// loads are masked, and their values are blended. gcc knows the possible choices of the kernel, and drops the other
// loads.
#pragma once

#include <cstddef>
#include <type_traits>

namespace situ::stencil::detail {

// The distances, in elements, from a point to the neighbours that its kernel accesses.
template <int D>
struct distances {
  std::ptrdiff_t step[D];     // one step along each dimension
  std::ptrdiff_t nearest[D];  // along each, to the declared offset nearest to the point: 0 nearly always
  std::ptrdiff_t component;   // to the next component

  template <class... Offsets>
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t to(Offsets... offsets) const noexcept {
    std::ptrdiff_t n = 0;
    int d = 0;
    ((n += static_cast<std::ptrdiff_t>(offsets) * step[d++]), ...);
    return n;
  }
};

// The type of a read: a value for numbers, since a choice has no address; a reference for other types.
template <class T>
using read_of = std::conditional_t<std::is_arithmetic_v<T>, T, const T&>;

// Chooses by one conditional after the other, without branches: gcc makes blends only of this form. The first load is
// not masked, which makes it cheap; so it must be one that the loop may do at each point.
template <class T>
[[gnu::always_inline]] inline T choose(const T* at, std::ptrdiff_t offset, std::ptrdiff_t step,
                                       std::ptrdiff_t nearest) noexcept {
  T value = at[nearest];
  value = offset == 1 ? at[step] : value;
  value = offset == -1 ? at[-step] : value;
  value = offset == 2 ? at[2 * step] : value;
  value = offset == -2 ? at[-2 * step] : value;
  value = offset > 2 || offset < -2 ? at[offset * step] : value;
  return value;
}

// Returns the value at offsets from a point, dimension 0 first.
template <class T, int D, class... Offsets>
[[gnu::always_inline]] inline read_of<T> load(const T* at, const distances<D>& of, Offsets... offsets) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    if ((int{__builtin_constant_p(offsets) == 0} + ...) == 1) {
      int d = 0;
      std::ptrdiff_t known = 0, chosen = 0, step = 0, nearest = 0;
      ((__builtin_constant_p(offsets)
            ? static_cast<void>(known += static_cast<std::ptrdiff_t>(offsets) * of.step[d])
            : static_cast<void>((chosen = offsets, step = of.step[d], nearest = of.nearest[d])),
        ++d),
       ...);
      return choose(at + known, chosen, step, nearest);
    }
  }
  return at[of.to(offsets...)];
}

}  // namespace situ::stencil::detail
