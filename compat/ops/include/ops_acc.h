// ACC<T>: the view that an OPS kernel of API version 2 has of a dataset. u(x, y) is the value at an offset, u(c, x, y)
// component c of it; OPS_1D ... OPS_5D, defined before the first OPS header of a source file, set the number of
// offsets.
#pragma once

#include <situ/stencil/detail/load.h>

#include <cstddef>
#include <type_traits>

#if defined(OPS_1D)
#define SITU_OPS_DIMS 1
#elif defined(OPS_2D)
#define SITU_OPS_DIMS 2
#elif defined(OPS_3D)
#define SITU_OPS_DIMS 3
#elif defined(OPS_4D)
#define SITU_OPS_DIMS 4
#elif defined(OPS_5D)
#define SITU_OPS_DIMS 5
#else
#define SITU_OPS_DIMS 2
#endif

namespace situ::ops {

template <class T, int D>
class acc {
 public:
  using value_type = T;
  static constexpr int dims = D;

  acc(T* at, const stencil::detail::distances<D>& of) noexcept : at_{at}, of_{of} {}

  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] T& operator()(Offset... o) noexcept {
    return at_[of_.to(o...)];
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] stencil::detail::read_of<T> operator()(Offset... o) const noexcept {
    return stencil::detail::load(at_, of_, o...);
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] T& operator()(int c, Offset... o) noexcept {
    return at_[of_.to(o...) + c * of_.component];
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] stencil::detail::read_of<T> operator()(int c, Offset... o) const noexcept {
    return stencil::detail::load(at_ + c * of_.component, of_, o...);
  }

  // combine_inc(x, y, v) and likewise: accumulation into a dataset that many points of the loop share. The executors
  // never run two such points at the same time, so no atomics are needed.
  template <class... A>
    requires(sizeof...(A) >= D + 1)
  void combine_inc(A... a) noexcept {
    combine([](T& to, const T& v) { to += v; }, a...);
  }
  template <class... A>
    requires(sizeof...(A) >= D + 1)
  void combine_min(A... a) noexcept {
    combine(
        [](T& to, const T& v) {
          if (v < to) to = v;
        },
        a...);
  }
  template <class... A>
    requires(sizeof...(A) >= D + 1)
  void combine_max(A... a) noexcept {
    combine(
        [](T& to, const T& v) {
          if (to < v) to = v;
        },
        a...);
  }

 private:
  // The arguments are offsets, after a component if there is one, and a value at the end.
  template <class F, class... A>
  void combine(F f, A... a) noexcept {
    const std::ptrdiff_t all[] = {static_cast<std::ptrdiff_t>(a)...};
    T value{};
    ((value = static_cast<T>(a)), ...);
    constexpr std::size_t first = sizeof...(A) - 1 - D;
    std::ptrdiff_t n = first == 1 ? all[0] * of_.component : 0;
    for (int d = 0; d < D; ++d) n += all[first + static_cast<std::size_t>(d)] * of_.step[d];
    f(at_[n], value);
  }
  T* at_;
  stencil::detail::distances<D> of_;
};

}  // namespace situ::ops

// An alias, so that source files of one program may differ in their dimensions.
template <class T>
using ACC = situ::ops::acc<T, SITU_OPS_DIMS>;
