// Turns the arguments of par_loop into parameters of a kernel_loop, and into the values that the kernel gets.
#pragma once

#include <situ/stencil/context.h>
#include <situ/stencil/detail/kernel_loop.h>

#include <array>
#include <span>
#include <string>
#include <type_traits>

namespace situ::stencil::detail {

template <class T, int D>
struct dataset_argument {
  dataset_core* data;
  shape where;
  access_mode mode;
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

// Returns the value that the kernel gets for a view.
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

}  // namespace situ::stencil::detail
