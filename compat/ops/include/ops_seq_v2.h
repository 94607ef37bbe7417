// ops_par_loop. It is a macro, since only the kernel's name lets the compiler inline it: the loop is compiled for its
// kernel and queued, and runs when a result is needed.
#pragma once

#include "ops_lib_core.h"

#include <situ/stencil/detail/kernel_loop.h>

namespace situ::ops {

// Passed to kernels for pointers: a value that converts to the pointer type that the kernel asks for.
struct index_view {
  int at[OPS_MAX_DIM];
  explicit index_view(const stencil::coordinates& c) noexcept {
    for (int d = 0; d < OPS_MAX_DIM; ++d) at[d] = c[static_cast<std::size_t>(d)];
  }
  operator int*() noexcept { return at; }              // NOLINT
  operator const int*() const noexcept { return at; }  // NOLINT
};
template <class T>
struct pointer_view {
  T* at;
  explicit pointer_view(T* p) noexcept : at{p} {}
  explicit pointer_view(const std::vector<T>& values) noexcept : at{const_cast<T*>(values.data())} {}
  operator T*() const noexcept { return at; }  // NOLINT
};

// The distances in the dataset of argument n of the loop that this thread runs, in elements, the last one between
// components. The macros OPS_ACC0 ... of ops_seq.h compute with them. Kernels that take bare pointers have no other
// place to find them.
inline constexpr int max_raw_arguments = 100;
inline thread_local constinit std::ptrdiff_t raw_stride[max_raw_arguments][OPS_MAX_DIM + 1] = {};

template <class T>
struct raw_view {
  T* at;
  raw_view(T* p, const stencil::detail::distances<OPS_MAX_DIM>&) noexcept : at{p} {}
  operator T*() const noexcept { return at; }  // NOLINT
};
// A dataset that the kernel sees as a bare pointer to the point. It works for any number of dimensions: a missing one
// has distance 0.
template <class T>
class raw_parameter : public stencil::detail::dataset_parameter<T, OPS_MAX_DIM, raw_view<T>> {
  using base = stencil::detail::dataset_parameter<T, OPS_MAX_DIM, raw_view<T>>;

 public:
  raw_parameter(base dataset, std::size_t index) noexcept : base{std::move(dataset)}, index_{index} {}
  template <bool Fast>
  struct row : base::template row<Fast> {
    std::size_t index;
    void enter() noexcept {
      for (std::size_t d = 0; d < OPS_MAX_DIM; ++d) raw_stride[index][d] = this->of.step[d];
      raw_stride[index][OPS_MAX_DIM] = this->of.component;
    }
  };
  template <bool Fast, class... A>
  [[nodiscard]] row<Fast> begin(A&&... a) const {
    return {base::template begin<Fast>(std::forward<A>(a)...), index_};
  }

 private:
  std::size_t index_;
};

[[nodiscard]] inline stencil::reduction_kind reduction_kind_of(ops_access acc) {
  return acc == OPS_MIN   ? stencil::reduction_kind::min
         : acc == OPS_MAX ? stencil::reduction_kind::max
                          : stencil::reduction_kind::sum;
}
// Throws if OPS_ACC has no number for the argument.
void check_raw_argument(const char* kernel, std::size_t index);
// Refuses elements of another size. Returns true before the first of several reductions into a dataset of which many
// points of the loop share a point: the reduction then starts from the identity.
[[nodiscard]] bool starts_reduction(const char* kernel, const situ_ops_arg_dat& a, std::size_t element_bytes);
[[nodiscard]] stencil::box range_of(int dims, const int* range);

template <class T, int D>
void fill(OPS_instance& i, ops_dat dat, T value) {
  using parameter = stencil::detail::dataset_parameter<T, D, acc<T, D>>;
  const auto kernel = [value, n = dat->dim](acc<T, D>&& u) {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      for (int c = 0; c < n; ++c) u(c, (static_cast<int>(Index) * 0)...) = value;
    }(std::make_index_sequence<D>{});
  };
  const int dims = dat->block->dims;
  i.enqueue(std::make_unique<stencil::detail::kernel_loop<std::remove_const_t<decltype(kernel)>, parameter>>(
      "identity", dims, dat->core->valid, kernel,
      parameter{dat->core, stencil::shape::point(dims), stencil::access_mode::write}));
}

template <class T, int D, class View>
stencil::detail::dataset_parameter<T, D, View> dataset(OPS_instance& i, const char* kernel, const situ_ops_arg_dat& a) {
  using value = std::remove_const_t<T>;
  if (a.dat == nullptr) return {nullptr, *a.stencil->shape, stencil::access_mode::read};
  // The kernel should not touch this dataset; but programs pass wrong flags (CloverLeaf 3D does), and OPS's dataset is
  // there all the same.
  if (a.opt == 0)
    return {a.dat->core, *a.stencil->shape,
            a.acc == OPS_READ ? stencil::access_mode::read : stencil::access_mode::read_write};
  if (starts_reduction(kernel, a, sizeof(T)))
    fill<value, D>(i, a.dat, stencil::identity<value>(reduction_kind_of(a.acc)));
  return {a.dat->core, *a.stencil->shape, i.access_of(a)};
}

template <class P>
struct parameter_of;  // no kernel takes such a parameter: ACC<T>& and pointers are possible
template <class T, int D>
struct parameter_of<acc<T, D>> {
  static auto make(OPS_instance& i, const char* kernel, const situ_ops_arg_dat& a, std::size_t) {
    return dataset<T, D, acc<T, D>>(i, kernel, a);
  }
};
template <class T>
struct parameter_of<T*> {
  using value = std::remove_const_t<T>;
  static auto make(OPS_instance& i, const char* kernel, const situ_ops_arg_dat& a, std::size_t index) {
    check_raw_argument(kernel, index);
    return raw_parameter<T>{dataset<T, OPS_MAX_DIM, raw_view<T>>(i, kernel, a), index};
  }
  static auto make(OPS_instance&, const char*, const situ_ops_arg_idx&, std::size_t) {
    return stencil::detail::index_parameter<index_view>{};
  }
  static auto make(OPS_instance&, const char*, const situ_ops_arg_gbl& a, std::size_t) {
    const auto* const first = reinterpret_cast<const value*>(a.data);
    return stencil::detail::global_parameter<std::vector<value>, pointer_view<value>>{
        std::vector<value>(first, first + a.dim)};
  }
  static auto make(OPS_instance& i, const char* kernel, const situ_ops_arg_reduce& a, std::size_t) {
    const auto kind = reduction_kind_of(a.acc);
    std::vector<value> identities(static_cast<std::size_t>(a.dim), stencil::identity<value>(kind));
    auto* const core = a.reduction->core;
    if (!core->is_fresh && core->count != a.dim) i.execute();  // queued loops sum another number of values
    core->count = a.dim;
    i.situ().use(core, kind, kernel, identities.data(), identities.size() * sizeof(value));
    return stencil::detail::reduction_parameter<value, pointer_view<value>>{core, kind};
  }
};

template <class... P, class Kernel, class... A>
void par_loop(void (*)(P...), Kernel kernel, char const* name, ops_block block, int, const int* range,
              const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A),
                "the kernel has another number of parameters than ops_par_loop has arguments");
  OPS_instance& instance = *block->instance;
  instance.keep_constants();
  auto parameters = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple{
        parameter_of<std::remove_cv_t<std::remove_reference_t<P>>>::make(instance, name, arguments, Index)...};
  }(std::index_sequence_for<P...>{});
  instance.enqueue(std::apply(
      [&](auto&... p) -> std::unique_ptr<stencil::loop> {
        return std::make_unique<stencil::detail::kernel_loop<Kernel, std::remove_reference_t<decltype(p)>...>>(
            name, block->dims, range_of(block->dims, range), std::move(kernel), std::move(p)...);
      },
      parameters));
}

}  // namespace situ::ops

#define ops_par_loop(kernel, name, block, dims, range, ...)                                                  \
  ::situ::ops::par_loop(                                                                                     \
      kernel, [](auto&&... situ_a) __attribute__((always_inline)) { kernel(situ_a...); }, name, block, dims, \
      range __VA_OPT__(, ) __VA_ARGS__)
