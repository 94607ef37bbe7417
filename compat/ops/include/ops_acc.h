// ACC<T>: what an OPS kernel of API version 2 sees of a dataset. u(x, y) is the value at an offset, u(c, x, y)
// component c of it; how many offsets there are is said by OPS_1D ... OPS_5D, defined before the first OPS header of a
// source file.
#pragma once

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

  acc(T* at, const std::ptrdiff_t* stride, std::ptrdiff_t component_stride) noexcept
      : at_{at}, component_stride_{component_stride} {
    for (int d = 0; d < D; ++d) stride_[d] = stride[d];
  }

  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] T& operator()(Offset... o) noexcept {
    return at_[distance(o...)];
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] const T& operator()(Offset... o) const noexcept {
    return at_[distance(o...)];
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] T& operator()(int c, Offset... o) noexcept {
    return at_[distance(o...) + c * component_stride_];
  }
  template <class... Offset>
    requires(sizeof...(Offset) == D)
  [[gnu::always_inline]] const T& operator()(int c, Offset... o) const noexcept {
    return at_[distance(o...) + c * component_stride_];
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
  template <class... Offset>
  [[gnu::always_inline]] std::ptrdiff_t distance(Offset... o) const noexcept {
    std::ptrdiff_t n = 0;
    int d = 0;
    ((n += static_cast<std::ptrdiff_t>(o) * stride_[d++]), ...);
    return n;
  }
  // The arguments are offsets, after a component or not, and a value at the end.
  template <class F, class... A>
  void combine(F f, A... a) noexcept {
    const std::ptrdiff_t all[] = {static_cast<std::ptrdiff_t>(a)...};
    T value{};
    ((value = static_cast<T>(a)), ...);
    constexpr std::size_t first = sizeof...(A) - 1 - D;
    std::ptrdiff_t n = first == 1 ? all[0] * component_stride_ : 0;
    for (int d = 0; d < D; ++d) n += all[first + static_cast<std::size_t>(d)] * stride_[d];
    f(at_[n], value);
  }
  T* at_;
  std::ptrdiff_t stride_[D];
  std::ptrdiff_t component_stride_;
};

}  // namespace situ::ops

// An alias, so that source files of one program may differ in their dimensions.
template <class T>
using ACC = situ::ops::acc<T, SITU_OPS_DIMS>;
