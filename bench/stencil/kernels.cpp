#include "kernels.h"

#include <situ/stencil/stencil.h>

#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

namespace {

using namespace situ::stencil;

// In huge pages, as datasets are: otherwise the comparison would be one of page sizes.
struct huge_array {
  explicit huge_array(std::size_t n) : count{n}, bytes{(n * sizeof(double) + align - 1) / align * align}, at{static_cast<double*>(std::aligned_alloc(align, bytes))} {
    if (at == nullptr) throw std::bad_alloc{};
    madvise(at, bytes, MADV_HUGEPAGE);
    std::fill_n(at, n, 0.0);
  }
  ~huge_array() { std::free(at); }
  huge_array(const huge_array&) = delete;
  huge_array& operator=(const huge_array&) = delete;
  static constexpr std::size_t align = std::size_t{2} << 20;
  std::size_t count, bytes;
  double* at;
};

struct grids {
  int n;
  std::size_t row, plane;
  huge_array a, b;
  context c{{.run_by = executor::plain, .threads = 1}};
  block<3> cube{c, "cube"};
  dataset<double, 3> u{cube, "u", {n, n, n}, 1}, v{cube, "v", {n, n, n}, 1};

  explicit grids(int points) : n{points}, row{static_cast<std::size_t>(points) + 2}, plane{row * row}, a(row * row * row), b(row * row * row) {
    for (std::size_t i = 0; i < a.count; ++i) a.at[i] = std::sin(static_cast<double>(i));
    u.store(u.valid(), {a.at, a.count});
  }
  [[nodiscard]] box inside() const { return range(0, n, 0, n, 0, n); }
  [[nodiscard]] bool agrees() const {
    const auto got = v.fetch();
    std::size_t i = 0;
    for (int z = 1; z <= n; ++z) {
      for (int y = 1; y <= n; ++y) {
        for (int x = 1; x <= n; ++x) {
          const double want = b.at[static_cast<std::size_t>(z) * plane + static_cast<std::size_t>(y) * row + static_cast<std::size_t>(x)];
          if (std::abs(got[i++] - want) > 1e-14 * (1 + std::abs(want))) return false;
        }
      }
    }
    return true;
  }
  // What one would write by hand, with the compiler told that lines do not overlap: without ivdep gcc 12 leaves the 27-point loop scalar.
  template <class F>
  void sweep_raw(F f) {
    for (int z = 1; z <= n; ++z) {
      for (int y = 1; y <= n; ++y) {
        const auto at = static_cast<std::size_t>(z) * plane + static_cast<std::size_t>(y) * row + 1;
        f(a.at + at, b.at + at);
      }
    }
  }
};

constexpr double c0 = 0.3, c1 = 0.1, c2 = 0.02, c3 = 0.01;

struct raw_view {
  const double* at;
  std::ptrdiff_t row, plane;
  [[gnu::always_inline]] double operator()(int x, int y, int z) const { return at[x + y * row + z * plane]; }
};

template <class U>
[[gnu::always_inline]] inline double twenty_seven(const U& u) {
  double faces = 0, edges = 0, corners = 0;
  for (int k = -1; k <= 1; ++k) {
    for (int j = -1; j <= 1; ++j) {
      for (int i = -1; i <= 1; ++i) {
        const int far = i * i + j * j + k * k;
        if (far == 1) faces += u(i, j, k);
        if (far == 2) edges += u(i, j, k);
        if (far == 3) corners += u(i, j, k);
      }
    }
  }
  return c0 * u(0, 0, 0) + c1 * faces + c2 * edges + c3 * corners;
}

}  // namespace

std::vector<kernel_case> make_kernel_cases(int n) {
  std::vector<kernel_case> cases;
  const double bytes = 2.0 * sizeof(double) * n * n * n;
  const auto g = std::make_shared<grids>(n);
  cases.push_back({"copy", bytes,
                   [g] {
                     g->sweep_raw([n = g->n](const double* __restrict x, double* __restrict y) {
#pragma GCC ivdep
                       for (int i = 0; i < n; ++i) y[i] = x[i];
                     });
                   },
                   [g] {
                     par_loop("copy", g->cube, g->inside(), [](auto x, auto y) { y(0, 0, 0) = x(0, 0, 0); }, read(g->u), write(g->v));
                     g->c.execute();
                   },
                   [g] { return g->agrees(); }});
  cases.push_back({"seven_point", bytes,
                   [g] {
                     g->sweep_raw([n = g->n, r = static_cast<std::ptrdiff_t>(g->row), p = static_cast<std::ptrdiff_t>(g->plane)](const double* __restrict x, double* __restrict y) {
#pragma GCC ivdep
                       for (int i = 0; i < n; ++i) y[i] = c0 * x[i] + c1 * (x[i - 1] + x[i + 1] + x[i - r] + x[i + r] + x[i - p] + x[i + p]);
                     });
                   },
                   [g, star = shape::star(3, 1)] {
                     par_loop("seven", g->cube, g->inside(),
                              [](auto x, auto y) {
                                y(0, 0, 0) = c0 * x(0, 0, 0) + c1 * (x(-1, 0, 0) + x(1, 0, 0) + x(0, -1, 0) + x(0, 1, 0) + x(0, 0, -1) + x(0, 0, 1));
                              },
                              read(g->u, star), write(g->v));
                     g->c.execute();
                   },
                   [g] { return g->agrees(); }});
  cases.push_back({"twenty_seven_point", bytes,
                   [g] {
                     g->sweep_raw([n = g->n, r = static_cast<std::ptrdiff_t>(g->row), p = static_cast<std::ptrdiff_t>(g->plane)](const double* __restrict x, double* __restrict y) {
#pragma GCC ivdep
                       for (int i = 0; i < n; ++i) y[i] = twenty_seven(raw_view{x + i, r, p});
                     });
                   },
                   [g, cube = shape::cube(3, 1)] {
                     par_loop("27", g->cube, g->inside(), [](auto x, auto y) { y(0, 0, 0) = twenty_seven(x); }, read(g->u, cube), write(g->v));
                     g->c.execute();
                   },
                   [g] { return g->agrees(); }});
  return cases;
}

chain_case make_jacobi_chain(double bytes, int threads) {
  struct side {
    context c;
    block<2> plate{c, "plate"};
    int n;
    dataset<double, 2> u{plate, "u", {n, n}, 1}, v{plate, "v", {n, n}, 1};
    shape five = shape::star(2, 1);
    side(executor how, int points, int threads) : c{{.run_by = how, .threads = threads}}, n{points} { start(); }
    void start() {
      par_loop("start", plate, range(-1, n + 1, -1, n + 1), [](auto x, const auto& i) { x(0, 0) = (i[0] * 7 + i[1] * 13) % 101; }, write(u), index());
      par_loop("start", plate, range(-1, n + 1, -1, n + 1), [](auto x) { x(0, 0) = 0; }, write(v));
      c.execute();
    }
    void sweeps() {
      for (int s = 0; s < 10; ++s) {
        par_loop("jacobi", plate, range(0, n, 0, n), [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); },
                 read(s % 2 ? v : u, five), write(s % 2 ? u : v));
      }
      c.execute();
    }
  };
  const int n = static_cast<int>(std::sqrt(bytes / 2 / sizeof(double)));
  const auto plain = std::make_shared<side>(executor::plain, n, threads), tiled = std::make_shared<side>(executor::tiled, n, threads);
  return {[plain] { plain->sweeps(); }, [tiled] { tiled->sweeps(); },
          [plain, tiled] {
            const auto row = range(0, plain->n, plain->n / 2, plain->n / 2 + 1);
            return plain->u.fetch(row) == tiled->u.fetch(row);
          },
          [tiled] { return std::to_string(tiled->c.statistics().last_tiles) + " tiles"; }};
}
