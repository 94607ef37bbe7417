// par_loop: a kernel over a range of a block.
//
//     par_loop("heat", grid, range(0, nx, 0, ny),
//              [c](auto u, auto v) {
//                v(0, 0) = u(0, 0) + c * (u(1, 0) + u(-1, 0) + u(0, 1) + u(0, -1) - 4 * u(0, 0));
//              },
//              read(u, five_points), write(v));
//
// The kernel gets for each argument:
//   read(u, stencil)                   accessor<const T, D>
//   write, read_write, increment       accessor<T, D>
//   sum(r), min(r), max(r)             T&, or std::span<T, N> for N values
//   global(value)                      const T& (as if the lambda captured it by value)
//   index()                            const std::array<int, D>&
// The stencil may be left out if the kernel touches only the point itself. A kernel with other parameters does not
// compile, nor does a range of other dimensions than the block's. Throws bad_argument for errors that are known at run
// time only: a box or a stencil of other dimensions, points outside a dataset, a dataset or a reduction of another
// context. cost: queuing, an allocation and a copy of the kernel; the loop runs later (context.h).
#pragma once

#include <situ/stencil/dataset.h>
#include <situ/stencil/detail/arguments.h>
#include <situ/stencil/reduction.h>

namespace situ::stencil {

// An argument of a loop: the kernel reads the dataset at the points of the stencil, writes it, does both, or adds to
// it. A dataset that is only written is assumed to be written at every point of the range. The default stencil is the
// loop's point itself.
template <class T, int D>
[[nodiscard]] auto read(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<const T, D>{u.core(), where, access_mode::read};
}
template <class T, int D>
[[nodiscard]] auto write(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access_mode::write};
}
template <class T, int D>
[[nodiscard]] auto read_write(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access_mode::read_write};
}
template <class T, int D>
[[nodiscard]] auto increment(const dataset<T, D>& u, const shape& where = shape::point(D)) {
  return detail::dataset_argument<T, D>{u.core(), where, access_mode::increment};
}
// An argument of a loop: the kernel adds to the reduction, or lowers or raises it. It begins at zero, or, for min and
// max, at the largest or least value of T, which is an infinity if T has one.
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
// An argument of a loop: the present value, the same at all points.
template <class T>
[[nodiscard]] auto global(T value) {
  return detail::global_argument<T>{std::move(value)};
}
// An argument of a loop: the point itself.
[[nodiscard]] inline auto index() { return detail::index_argument{}; }

// Queues a loop: kernel(arguments...) at each point of `over`. The name is for messages and reports. The analysis
// trusts the declarations: a kernel that touches other points, or reads a dataset that it declares as written, gets
// wrong values (SITU_STENCIL_CHECKED finds it). The loop computes with the present floating-point settings of the
// calling thread.
template <int D, std::derived_from<box> Range = box, class Kernel, class... Arguments>
void par_loop(std::string name, const block<D>& on, const Range& over, Kernel kernel, const Arguments&... arguments) {
  require_dims<D, Range>();
  // Evaluated in order, since arguments of one reduction must agree.
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
