// Tridiagonal solves (ops_tridiag.h) by elimination along each line.
#include "ops_tridiag.h"

#include <situ/base/error.h>
#include <situ/stencil/detail/kernel_loop.h>

#include <fmt/format.h>

#include <algorithm>

namespace {

namespace st = situ::stencil;

template <class T>
struct line_solver {
  int points;
  std::size_t axis;
  bool adds;

  template <class U>
  [[gnu::always_inline]] decltype(auto) at(const st::accessor<U, OPS_MAX_DIM>& u, int i) const {
    std::array<int, OPS_MAX_DIM> o{};
    o[axis] = i;
    return u(o[0], o[1], o[2], o[3], o[4]);
  }
  using in = st::accessor<const T, OPS_MAX_DIM>;
  void operator()(const in& a, const in& b, const in& c, const in& d, const st::accessor<T, OPS_MAX_DIM>& to) const {
    thread_local std::vector<T> upper, right;
    upper.resize(static_cast<std::size_t>(points));
    right.resize(static_cast<std::size_t>(points));
    T before_upper{}, before_right{};
    for (int i = 0; i < points; ++i) {
      const T below = i == 0 ? T{} : at(a, i);
      const T scale = T{1} / (at(b, i) - below * before_upper);
      upper[static_cast<std::size_t>(i)] = before_upper = at(c, i) * scale;
      right[static_cast<std::size_t>(i)] = before_right = (at(d, i) - below * before_right) * scale;
    }
    T x{};
    for (int i = points - 1; i >= 0; --i) {
      const auto n = static_cast<std::size_t>(i);
      x = i == points - 1 ? right[n] : right[n] - upper[n] * x;
      at(to, i) = adds ? at(to, i) + x : x;
    }
  }
};

template <class T>
void enqueue(const std::array<ops_dat, 5>& dats, st::box range, const line_solver<T>& solver) {
  const int dims = dats[0]->block->dims;
  std::vector<st::coordinates> offsets(static_cast<std::size_t>(solver.points));
  for (int i = 0; i < solver.points; ++i) offsets[static_cast<std::size_t>(i)][solver.axis] = i;
  const st::shape line{"line", dims, offsets};
  range.high[solver.axis] = range.low[solver.axis] + 1;
  using read = st::detail::dataset_parameter<const T, OPS_MAX_DIM, st::accessor<const T, OPS_MAX_DIM>>;
  using change = st::detail::dataset_parameter<T, OPS_MAX_DIM, st::accessor<T, OPS_MAX_DIM>>;
  const auto in = [&](std::size_t n) { return read{dats[n]->core, line, st::access_mode::read}; };
  auto& instance = *dats[0]->block->instance;
  instance.keep_constants();
  instance.enqueue(std::make_unique<st::detail::kernel_loop<line_solver<T>, read, read, read, read, change>>(
      fmt::format("tridiagonal systems along {}", solver.axis), dims, range, solver, in(0), in(1), in(2), in(3),
      change{dats[4]->core, line, st::access_mode::read_write}));
}

// Solves for datasets a, b, c, d and the destination of the solution.
void solve(int ndim, int solvedim, const int* range, const std::array<ops_dat, 5>& dats, bool adds) {
  st::box what;
  for (int d = 0; d < ndim; ++d) {
    what.low[static_cast<std::size_t>(d)] = range[2 * d];
    what.high[static_cast<std::size_t>(d)] = range[2 * d + 1];
  }
  if (ndim != dats[0]->block->dims || solvedim < 0 || solvedim >= ndim) {
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("tridiagonal systems along dimension {} of {} on block '{}', which has {} dimensions",
                                  solvedim, ndim, dats[0]->block->name, dats[0]->block->dims));
  }
  if (what.empty()) return;
  for (const ops_dat dat : dats) {
    if (dat->dim != 1 || dat->situ_type != dats[0]->situ_type) {
      situ::throw_error(situ::errc::bad_argument,
                        fmt::format("tridiagonal systems: '{}' has {} components of type {}, '{}' has {} of {}: each "
                                    "must have one, of the same type",
                                    dat->name, dat->dim, dat->type, dats[0]->name, dats[0]->dim, dats[0]->type));
    }
    if (st::intersection(what, dat->core->valid) != what) {
      situ::throw_error(
          situ::errc::bad_argument,
          fmt::format("tridiagonal systems: the range leaves dataset '{}' and its ghost points", dat->name));
    }
    dat->reduced_by = -1;
  }
  const int points = what.extent(solvedim);
  const auto axis = static_cast<std::size_t>(solvedim);
  if (dats[0]->situ_type == "double") return enqueue<double>(dats, what, {points, axis, adds});
  if (dats[0]->situ_type == "float") return enqueue<float>(dats, what, {points, axis, adds});
  situ::throw_error(situ::errc::not_supported,
                    fmt::format("tridiagonal systems of type {}: double and float are possible", dats[0]->type));
}

}  // namespace

void ops_tridMultiDimBatch(int ndim, int solvedim, int* range, ops_dat a, ops_dat b, ops_dat c, ops_dat d,
                           ops_tridsolver_params*) {
  solve(ndim, solvedim, range, {a, b, c, d, d}, false);
}
void ops_tridMultiDimBatch_Inc(int ndim, int solvedim, int* range, ops_dat a, ops_dat b, ops_dat c, ops_dat d,
                               ops_dat u, ops_tridsolver_params*) {
  solve(ndim, solvedim, range, {a, b, c, d, u}, true);
}
