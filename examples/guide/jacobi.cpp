// jacobi: Jacobi's iteration on a square plate with one hot side, spread over the places in blocks of both dimensions.
// Each step exchanges the ghost zones of one array, in one call, and computes the other from it.
//
//   situ run -n 4 jacobi [steps] [width]
#include <situ/situ.h>
#include <situ/spread/distributed_array.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

namespace {

using plate = situ::distributed_array<double, 2>;

// The ghost elements beyond the plate are its sides: nobody fetches them, so they keep what is written here.
void heat_one_side(plate& u) {
  const auto mine = u.global_view();
  if (mine.around().low[0] >= 0) return;
  for (std::ptrdiff_t j = mine.around().low[1]; j < mine.around().high[1]; ++j) mine(-1, j) = 1;
}

void relax(const plate& from, plate& to) {
  const auto u = from.local_view();
  const auto next = to.local_view();
  const auto [rows, columns] = u.points().high;
  for (std::ptrdiff_t i = 0; i < rows; ++i)
    for (std::ptrdiff_t j = 0; j < columns; ++j)
      next(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("jacobi [steps, 500] [width, 64]");
    return 0;
  }
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  const std::size_t width = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;

  plate one{{width, width}, {}, situ::ghost_zones<2>::all(1)};
  plate other{{width, width}, {}, situ::ghost_zones<2>::all(1)};
  heat_one_side(one);
  heat_one_side(other);

  plate* now = &one;
  plate* next = &other;
  for (int step = 0; step < steps; ++step) {
    now->exchange_ghosts();
    relax(*now, *next);
    std::swap(now, next);
  }

  double heat = 0;
  now->for_each_local([&](double each) { heat += each; });
  heat = situ::all_reduce(heat, std::plus<>{});
  if (situ::here().index() == 0) std::printf("%.9f\n", heat);
}
