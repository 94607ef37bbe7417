// Distributed arrays: ghost zones beside memcpy of their bytes, and loops over a part beside plain ones.
#include <situ/spread/distributed_array.h>

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cases.h"

namespace situ_spread {
namespace {

constexpr std::size_t array_width = 2048;

// ns for one exchange. memcpy: each place copies as many bytes out of its neighbour's part, and nobody waits for
// anybody; then with the two barriers that an exchange needs.
void measure_ghosts(const char* what, const std::array<situ::cut, 2>& how, const situ::ghost_zones<2>& ghosts) {
  const std::size_t width = is_quick() ? 64 : array_width;
  const int rounds = is_quick() ? 3 : 500;
  situ::distributed_array<double, 2> array{{width, width}, how, ghosts};
  const auto mine = std::as_const(array).local_view();
  std::size_t elements = 1;
  for (std::size_t d = 0; d < 2; ++d) elements *= mine.around().extent(d);
  elements -= mine.points().points();
  std::vector<double> here(elements);
  const std::vector<situ::ptr<const double>> parts = situ::all_gather(situ::ptr<const double>{mine.data()});
  const double* const theirs = parts[(situ::here().index() + 1) % situ::place_count()].local();
  std::vector<samples> all{{"memcpy"}, {"memcpy_and_two_barriers"}, {"situ"}};
  for (int sample = 0; sample < (is_quick() ? 1 : 7); ++sample) {
    const auto take = [&](samples& into, auto step) {
      into.ns.push_back(time_together([&] {
                          for (int round = 0; round < rounds; ++round) step();
                        }) /
                        rounds);
    };
    const auto copy = [&] {
      std::memcpy(here.data(), theirs, elements * sizeof(double));
      asm volatile("" : : "r"(here.data()) : "memory");
    };
    take(all[0], copy);
    take(all[1], [&] {
      situ::barrier();
      copy();
      situ::barrier();
    });
    take(all[2], [&] { array.exchange_ghosts(); });
  }
  print(what, all);
}

// On huge pages, as large parts of an array are.
struct plain_memory {
  double* data;
  explicit plain_memory(std::size_t elements) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t bytes = (elements * sizeof(double) + huge_page - 1) / huge_page * huge_page;
    data = static_cast<double*>(std::aligned_alloc(huge_page, bytes));
    if (data == nullptr) std::abort();
    (void)madvise(data, bytes, MADV_HUGEPAGE);
    std::fill_n(data, elements, 1.0);
  }
  ~plain_memory() { std::free(data); }
  plain_memory(const plain_memory&) = delete;
  plain_memory& operator=(const plain_memory&) = delete;
};

// ns for one element, all places at once: for_each_local beside a plain loop, then a Jacobi sweep by views
// beside one by pointers.
void measure_loops() {
  const std::size_t width = is_quick() ? 64 : array_width;
  const int rounds = is_quick() ? 1 : 10;
  situ::distributed_array<double, 2> one{{width, width}, {}, situ::ghost_zones<2>::all(1)};
  situ::distributed_array<double, 2> other{{width, width}, {}, situ::ghost_zones<2>::all(1)};
  const auto u = std::as_const(one).local_view();
  const auto next = other.local_view();
  const auto [rows, columns] = u.points().high;
  const std::ptrdiff_t pitch = columns + 2;
  const auto plain_elements = static_cast<std::size_t>((rows + 2) * pitch);
  const plain_memory plain{plain_elements}, plain_next{plain_elements};
  one.for_each_local([](double& x) { x = 1; });
  std::vector<samples> walks{{"plain_loop"}, {"for_each_local"}}, sweeps{{"plain_loop"}, {"views"}};
  const double elements = static_cast<double>(width * width) * rounds;
  const auto take = [&](samples& into, auto step) {
    into.ns.push_back(time_together([&] {
                        for (int round = 0; round < rounds; ++round) {
                          step();
                          asm volatile("" : : : "memory");
                        }
                      }) /
                      elements);
  };
  for (int sample = 0; sample < (is_quick() ? 1 : 7); ++sample) {
    take(walks[0], [&] {
      for (std::ptrdiff_t i = 1; i <= rows; ++i)
        for (std::ptrdiff_t j = 1; j <= columns; ++j) {
          double& x = plain.data[i * pitch + j];
          x = 0.5 * x + 1;
        }
    });
    take(walks[1], [&] { one.for_each_local([](double& x) { x = 0.5 * x + 1; }); });
    take(sweeps[0], [&] {
      const double* const from = plain.data;
      double* const to = plain_next.data;
      for (std::ptrdiff_t i = 1; i <= rows; ++i)
        for (std::ptrdiff_t j = 1; j <= columns; ++j) {
          const double* const at = from + i * pitch + j;
          to[i * pitch + j] = 0.25 * (at[-pitch] + at[pitch] + at[-1] + at[1]);
        }
    });
    take(sweeps[1], [&] {
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        for (std::ptrdiff_t j = 0; j < columns; ++j)
          next(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
    });
  }
  if (is_wanted("array_walk")) print("array_walk", walks);
  if (is_wanted("array_jacobi")) print("array_jacobi", sweeps);
}

}  // namespace

void measure_arrays() {
  situ::ghost_zones<2> rows;
  rows.low = rows.high = {1, 0};
  rows.periodic = {true, true};
  if (is_wanted("array_ghost_rows")) measure_ghosts("array_ghost_rows", {situ::cut::block(), situ::cut::none()}, rows);
  if (is_wanted("array_ghosts")) measure_ghosts("array_ghosts", {}, situ::ghost_zones<2>::all(1, true));
  if (is_wanted("array_walk") || is_wanted("array_jacobi")) measure_loops();
}

}  // namespace situ_spread
