// Ten sweeps of a 5-point Jacobi iteration between two fields, as one chain: in memory, out of core, and beyond the
// memory of the machine.
#include "measure.h"

#include <situ/stencil/stencil.h>

#include <unistd.h>
#include <cmath>

namespace stencil_bench {

using namespace situ::stencil;

namespace {

constexpr int sweeps = 10;

constexpr int period = 101;  // of the start values, in both directions
double start_value(int x, int y) { return (x * 7 + y * 13) % period; }

// Points a side of two fields of so many bytes together.
int side_of(double bytes) { return static_cast<int>(std::sqrt(bytes / 2 / sizeof(double))); }

struct jacobi {
  context run;
  block<2> plate{run, "plate"};
  int n;
  dataset<double, 2> u{plate, "u", {n, n}, 1}, v{plate, "v", {n, n}, 1};
  shape five = shape::star(2, 1);

  jacobi(const options& how, int points) : run{how}, n{points} {
    const auto all = range(-1, n + 1, -1, n + 1);
    par_loop(
        "start", plate, all, [](auto x, auto y, const auto& i) { x(0, 0) = start_value(i[0], i[1]), y(0, 0) = 0; },
        write(u), write(v), index());
    run.execute();
  }
  // Nanoseconds for one point of one sweep.
  double chain() {
    return seconds_of([&] {
             for (int s = 0; s < sweeps; ++s) {
               par_loop(
                   "jacobi", plate, range(0, n, 0, n),
                   [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); },
                   read(s % 2 ? v : u, five), write(s % 2 ? u : v));
             }
             run.execute();
           }) /
           (static_cast<double>(n) * n * sweeps) * 1e9;
  }
  [[nodiscard]] std::vector<double> middle() const { return u.fetch(range(0, n, n / 2, n / 2 + 1)); }
};

// Whether one chain has given a plate, too large to be compared as a whole, the middle that a small one has: away from
// the edges both repeat themselves.
bool has_right_middle(const jacobi& large) {
  jacobi small{options_for(executor::plain), 3 * period};
  small.chain();
  const int y = period + large.n / 2 % period;
  const auto expected = small.u.fetch(range(period, 2 * period, y, y + 1)), middle = large.middle();
  for (int x = sweeps; x < large.n - sweeps; ++x) {
    if (middle[static_cast<std::size_t>(x)] != expected[static_cast<std::size_t>(x % period)]) return false;
  }
  return true;
}

struct by_hand {
  int n;
  std::size_t row;
  huge_array a, b;
  explicit by_hand(int points)
      : n{points}, row{static_cast<std::size_t>(points) + 2}, a{row * row, threads}, b{row * row, threads} {
    for (int y = -1; y <= n; ++y)
      for (int x = -1; x <= n; ++x)
        a.data()[static_cast<std::size_t>(y + 1) * row + static_cast<std::size_t>(x + 1)] = start_value(x, y);
  }
  double chain() {
    return seconds_of([&] {
             for (int s = 0; s < sweeps; ++s)
               raw_jacobi(s % 2 ? b.data() : a.data(), s % 2 ? a.data() : b.data(), n, threads);
           }) /
           (static_cast<double>(n) * n * sweeps) * 1e9;
  }
  [[nodiscard]] std::vector<double> middle() const {
    const double* const from = a.data() + static_cast<std::size_t>(n / 2 + 1) * row + 1;
    return {from, from + n};
  }
};

}  // namespace

void measure_jacobi_chain(const session& s) {
  const int n = side_of(s.is_quick ? 40e6 : 2e9);
  by_hand raw{n};
  jacobi plain{options_for(executor::plain), n}, tiled{options_for(executor::tiled), n};
  raw.chain();
  plain.chain();
  tiled.chain();
  require_equal(raw.middle() == plain.middle() && plain.middle() == tiled.middle(), "jacobi_chain");
  for (int i = 1; i < tries; ++i) tiled.chain();
  sampler samples{s, "jacobi_chain"};
  samples.repeat([&] {
    const double raw_ns = raw.chain(), plain_ns = plain.chain(), tiled_ns = tiled.chain();
    samples.print("raw", raw_ns, raw_ns);
    samples.print("plain", plain_ns, raw_ns);
    samples.print("tiled", tiled_ns, plain_ns);
  });
}

void measure_jacobi_far(const session& s) {
  const double bytes = s.is_quick ? 40e6 : 2e9;
  const int n = side_of(bytes);
  jacobi tiled{options_for(executor::tiled), n}, far{far_options(s, bytes / 3), n};
  tiled.chain();
  far.chain();
  require_equal(tiled.middle() == far.middle(), "jacobi_far");
  for (int i = 1; i < tries; ++i) tiled.chain(), far.chain();
  sampler samples{s, "jacobi_far"};
  samples.repeat([&] {
    const double tiled_ns = tiled.chain(), far_ns = far.chain();
    samples.print("tiled", tiled_ns, tiled_ns);
    samples.print("out_of_core", far_ns, tiled_ns);
  });
}

void measure_beyond_memory(const session& s) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double bytes = s.is_quick ? 80e6 : std::max(30e9, 1.25 * memory), small = s.is_quick ? 40e6 : 2e9;
  double small_ns;
  {
    jacobi far{far_options(s, small / 3), side_of(small)};
    for (int i = 0; i < tries; ++i) far.chain();
    std::array<double, 5> chains;
    for (double& ns : chains) ns = far.chain();
    std::nth_element(chains.begin(), chains.begin() + 2, chains.end());
    small_ns = chains[2];
  }
  jacobi far{far_options(s, std::min(bytes / 3, memory / 2)), side_of(bytes)};
  far.chain();
  require_equal(has_right_middle(far), "beyond_memory");
  for (int i = 1; i < tries / 2; ++i) far.chain();  // half a minute each
  sampler samples{s, "beyond_memory"};
  samples.repeat([&] { samples.print("out_of_core", far.chain(), small_ns); });
}

}  // namespace stencil_bench
