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

#include <situ/stencil/context.h>
#include <situ/stencil/kernel_loop.h>

namespace situ::stencil {

namespace detail {

template <class T, int D>
struct dataset_argument {
  dataset_core* data;
  shape where;
  access mode;
};
template <class T, int N>
struct reduction_argument {
  reduction_core* into;
  reduction_kind kind;
};
template <class T>
struct global_argument {
  T value;
};
struct index_argument {};

template <class T>
struct reference_view {
  T* to;
  explicit reference_view(T* p) noexcept : to{p} {}
  explicit reference_view(T& r) noexcept : to{&r} {}
};

template <int D>
[[gnu::always_inline]] inline std::array<int, D> first_dims(const coordinates& c) noexcept {
  std::array<int, D> r{};
  for (int d = 0; d < D; ++d) r[d] = c[d];
  return r;
}
template <int D>
struct index_view {
  std::array<int, D> at;
  explicit index_view(const coordinates& c) noexcept : at{first_dims<D>(c)} {}
};
template <class T, int N>
struct span_view {
  T* first;
  explicit span_view(T* p) noexcept : first{p} {}
};

// What a view hands to the kernel.
template <class V>
[[gnu::always_inline]] inline const V& unwrap(const V& v) noexcept {
  return v;
}
template <class T>
[[gnu::always_inline]] inline T& unwrap(const reference_view<T>& v) noexcept {
  return *v.to;
}
template <int D>
[[gnu::always_inline]] inline const std::array<int, D>& unwrap(const index_view<D>& v) noexcept {
  return v.at;
}
template <class T, int N>
[[gnu::always_inline]] inline std::span<T, N> unwrap(const span_view<T, N>& v) noexcept {
  return std::span<T, N>{v.first, N};
}

template <class Kernel>
struct unwrapping {
  Kernel kernel;
  template <class... Views>
  [[gnu::always_inline]] void operator()(const Views&... views) {
    if constexpr (std::is_invocable_v<Kernel&, decltype(unwrap(views))...>) {
      kernel(unwrap(views)...);
    } else {
      static_assert(sizeof(Kernel) == 0,
                    "the kernel must take one parameter for each argument of the loop, of the types that "
                    "situ/stencil/par_loop.h lists");
    }
  }
};

template <int D, class T, int DataDims>
auto make_parameter(context& c, const std::string&, const dataset_argument<T, DataDims>& a) {
  static_assert(DataDims == D, "the dataset has other dimensions than the block");
  (void)c;
  return dataset_parameter<T, DataDims>{a.data, a.where, a.mode};
}
template <int D, class T, int N>
auto make_parameter(context& c, const std::string& loop, const reduction_argument<T, N>& a) {
  std::array<T, N> identities;
  identities.fill(identity<T>(a.kind));
  c.use(a.into, a.kind, loop, identities.data(), sizeof identities);
  using view = std::conditional_t<N == 1, reference_view<T>, span_view<T, N>>;
  return reduction_parameter<T, view>{a.into, a.kind};
}
template <int D, class T>
auto make_parameter(context&, const std::string&, const global_argument<T>& a) {
  return global_parameter<T, reference_view<const T>>{a.value};
}
template <int D>
auto make_parameter(context&, const std::string&, index_argument) {
  return index_parameter<index_view<D>>{};
}

}  // namespace detail

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
