// par_loop: a kernel over a range of a block.
//
//     par_loop("heat", grid, range(0, nx, 0, ny),
//              [c](auto u, auto v) {
//                v(0, 0) = u(0, 0) + c * (u(1, 0) + u(-1, 0) + u(0, 1) + u(0, -1) - 4 * u(0, 0));
//              },
//              read(u, five_points), write(v));
//
// What the kernel gets for each argument:
//   read(u, stencil)                   accessor<const T, D>
//   write, read_write, increment       accessor<T, D>
//   sum(r), min(r), max(r)             T&, or std::span<T, N> for N values
//   global(value)                      const T& (what a lambda captures by value does as well)
//   index()                            const std::array<int, D>&
// The stencil may be left out where only the point itself is touched. A kernel with other parameters does not compile,
// nor does a range of other dimensions than the block's. Throws bad_argument what is known at run time only: a box or a
// stencil of other dimensions, points outside a dataset, a dataset or a reduction of another context.
// cost: queuing, an allocation and a copy of the kernel; the loop runs later (context.h).
#pragma once

#include <situ/stencil/dataset.h>
#include <situ/stencil/detail/arguments.h>
#include <situ/stencil/reduction.h>

namespace situ::stencil {

template <class T, int D>
[[nodiscard]] auto read(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<const T, D>{u.core(), where, access::read};
}
template <class T, int D>
[[nodiscard]] auto write(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access::write};
}
template <class T, int D>
[[nodiscard]] auto read_write(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access::read_write};
}
template <class T, int D>
[[nodiscard]] auto increment(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access::increment};
}
template <class T, int N>
[[nodiscard]] auto sum(const reduction<T, N>& r) {
  return detail::reduction_argument<T, N>{r.core(), reduction_kind::sum};
}
template <class T, int N>
[[nodiscard]] auto min(const reduction<T, N>& r) {
  return detail::reduction_argument<T, N>{r.core(), reduction_kind::min};
}
template <class T, int N>
[[nodiscard]] auto max(const reduction<T, N>& r) {
  return detail::reduction_argument<T, N>{r.core(), reduction_kind::max};
}
template <class T>
[[nodiscard]] auto global(T value) {
  return detail::global_argument<T>{std::move(value)};
}
[[nodiscard]] inline auto index() { return detail::index_argument{}; }

template <int D, std::derived_from<box> Range = box, class Kernel, class... Arguments>
void par_loop(std::string name, const block<D>& on, const Range& over, Kernel kernel, const Arguments&... arguments) {
  require_dims<D, Range>();
  // In order, since arguments of one reduction must agree.
  auto parameters = std::tuple{detail::make_parameter<D>(on.owner(), name, arguments)...};
  auto made = std::apply(
      [&](auto&... p) -> std::unique_ptr<loop> {
        return std::make_unique<
            detail::kernel_loop<detail::unwrapping<Kernel>, std::remove_reference_t<decltype(p)>...>>(
            std::move(name), D, over, detail::unwrapping<Kernel>{std::move(kernel)}, std::move(p)...);
      },
      parameters);
  on.owner().enqueue(std::move(made));
}

}  // namespace situ::stencil
