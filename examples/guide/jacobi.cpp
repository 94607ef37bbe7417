// jacobi: Jacobi's iteration on a square plate with one hot side, spread over the places in blocks of both dimensions.
// Each step exchanges the ghost zones of one array, in one call, and computes the other from it.
//
//   situ run -n 4 jacobi [steps, 500] [width, 64]
#include <situ/situ.h>
#include <situ/spread/distributed_array.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

namespace {

using plate = situ::distributed_array<double, 2>;

// The ghost elements beyond the plate are its sides: nobody fetches them, so they keep what is written here.
plate make_plate(std::size_t width) {
  plate made{{width, width}, {}, situ::ghost_zones<2>::all(1)};
  const auto mine = made.global_view();
  if (mine.around().low[0] < 0)
    for (std::ptrdiff_t j = mine.around().low[1]; j < mine.around().high[1]; ++j) mine(-1, j) = 1;
  return made;
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
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  const std::size_t width = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;

  plate u = make_plate(width), next = make_plate(width);
  for (int step = 0; step < steps; ++step) {
    u.exchange_ghosts();
    relax(u, next);
    std::swap(u, next);
  }

  double heat = 0;
  u.for_each_local([&](double each) { heat += each; });
  heat = situ::all_reduce(heat, std::plus<>{});
  if (situ::here().index() == 0) std::printf("%.9f\n", heat);
}
