// examples/guide/jacobi.cpp with the foundation alone: blocks of rows, each with a ghost row above and below, which is
// fetched from the neighbour by a get.
#include <situ/situ.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

// Of this place, rows of the plate with one more on each side, and one more element at each end.
struct block {
  situ::ptr<double> plates[2];
  std::size_t rows = 0;
};
thread_local block mine;
thread_local double heat = 0;  // at place 0: of all

std::size_t first_row(std::uint32_t place, std::size_t width) { return width * place / situ::place_count(); }

void allocate_block(std::size_t width) {
  const std::uint32_t me = situ::here().index();
  const std::size_t pitch = width + 2;
  mine.rows = first_row(me + 1, width) - first_row(me, width);
  for (situ::ptr<double>& plate : mine.plates) {
    plate = situ::allocate<double>((mine.rows + 2) * pitch);
    std::fill_n(plate.local(), (mine.rows + 2) * pitch, 0.0);
    if (me == 0) std::fill_n(plate.local(), pitch, 1.0);  // the hot side
  }
}

void relax(const double* from, double* to, std::size_t width) {
  const std::ptrdiff_t pitch = static_cast<std::ptrdiff_t>(width) + 2;
  for (std::size_t i = 1; i <= mine.rows; ++i) {
    const double* const u = from + static_cast<std::ptrdiff_t>(i) * pitch;
    double* const next = to + static_cast<std::ptrdiff_t>(i) * pitch;
    for (std::ptrdiff_t j = 1; j < pitch - 1; ++j) next[j] = 0.25 * (u[j - pitch] + u[j + pitch] + u[j - 1] + u[j + 1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("by_hand_jacobi [steps, 500] [width, 64]");
    return 0;
  }
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  const std::size_t width = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;
  const auto pitch = static_cast<std::ptrdiff_t>(width) + 2;

  allocate_block(width);
  situ::barrier();
  const std::uint32_t me = situ::here().index(), last = situ::place_count() - 1;
  const auto block_of = [](std::uint32_t place) { return situ::at(situ::place{place}, [] { return mine; }); };
  const block above = me > 0 ? block_of(me - 1) : block{};
  const block below = me < last ? block_of(me + 1) : block{};

  for (int step = 0; step < steps; ++step) {
    const int now = step % 2;
    double* const u = mine.plates[now].local();
    situ::barrier();
    if (me > 0) situ::get(u, above.plates[now] + static_cast<std::ptrdiff_t>(above.rows) * pitch, width + 2);
    if (me < last)
      situ::get(u + static_cast<std::ptrdiff_t>(mine.rows + 1) * pitch, below.plates[now] + pitch, width + 2);
    relax(u, mine.plates[1 - now].local(), width);
  }

  const double* const u = mine.plates[steps % 2].local();
  double own = 0;
  for (std::size_t i = 1; i <= mine.rows; ++i)
    for (std::size_t j = 1; j <= width; ++j) own += u[i * (width + 2) + j];
  situ::at(situ::place{0}, [](double more) { heat += more; }, own);
  situ::barrier();
  if (me == 0) std::printf("%.9f\n", heat);
  for (const situ::ptr<double> plate : mine.plates) situ::deallocate(plate);
}
