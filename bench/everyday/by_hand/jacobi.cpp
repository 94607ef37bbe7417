// examples/guide/jacobi.cpp with the foundation alone: blocks of both dimensions, with ghost elements around them,
// which are fetched from the neighbours by gets.
#include <situ/situ.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

// Of a place: its part of the plate, with a ghost element on each side; what the next step writes besides.
struct block {
  situ::ptr<double> u, next;
  std::ptrdiff_t rows = 0, columns = 0;
  [[nodiscard]] std::ptrdiff_t pitch() const { return columns + 2; }
  [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t i, std::ptrdiff_t j) const { return (i + 1) * pitch() + j + 1; }
};
thread_local block mine;
thread_local double heat = 0;  // at place 0: of all

// How the places lie: as near to a square as their number allows.
struct grid {
  std::ptrdiff_t down = 1, across = 1;
};
grid lay_out(std::ptrdiff_t places) {
  grid made{places, 1};
  for (std::ptrdiff_t n = 2; n * n <= places; ++n)
    if (places % n == 0) made = {places / n, n};
  return made;
}

void allocate_block(const grid& places, std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t width) {
  mine.rows = width * (row + 1) / places.down - width * row / places.down;
  mine.columns = width * (column + 1) / places.across - width * column / places.across;
  const auto elements = static_cast<std::size_t>((mine.rows + 2) * mine.pitch());
  for (situ::ptr<double>* plate : {&mine.u, &mine.next}) {
    *plate = situ::allocate<double>(elements);
    std::fill_n(plate->local(), elements, 0.0);
    if (row == 0) std::fill_n(plate->local(), mine.pitch(), 1.0);  // the hot side
  }
}

void relax() {
  const double* const u = mine.u.local();
  double* const next = mine.next.local();
  for (std::ptrdiff_t i = 0; i < mine.rows; ++i)
    for (std::ptrdiff_t j = 0; j < mine.columns; ++j)
      next[mine.at(i, j)] =
          0.25 * (u[mine.at(i - 1, j)] + u[mine.at(i + 1, j)] + u[mine.at(i, j - 1)] + u[mine.at(i, j + 1)]);
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  const std::ptrdiff_t width = argc > 2 ? std::atol(argv[2]) : 64;

  const grid places = lay_out(situ::place_count());
  const std::ptrdiff_t row = situ::here().index() / places.across, column = situ::here().index() % places.across;
  allocate_block(places, row, column, width);
  situ::barrier();
  const auto block_at = [&](std::ptrdiff_t i, std::ptrdiff_t j) {  // nothing beyond the plate
    if (i < 0 || i == places.down || j < 0 || j == places.across) return block{};
    return situ::at(situ::place{static_cast<std::uint32_t>(i * places.across + j)}, [] { return mine; });
  };
  block above = block_at(row - 1, column), below = block_at(row + 1, column);
  block left = block_at(row, column - 1), right = block_at(row, column + 1);
  const auto rows = static_cast<std::size_t>(mine.rows), columns = static_cast<std::size_t>(mine.columns);

  for (int step = 0; step < steps; ++step) {
    double* const u = mine.u.local();
    situ::barrier();
    if (above.u) situ::get(u + mine.at(-1, 0), above.u + above.at(above.rows - 1, 0), columns);
    if (below.u) situ::get(u + mine.at(mine.rows, 0), below.u + below.at(0, 0), columns);
    const auto get_column = [&](std::ptrdiff_t to, const block& from, std::ptrdiff_t column) {
      situ::get_strided<double, 1>(u + mine.at(0, to), {mine.pitch()}, from.u + from.at(0, column), {from.pitch()},
                                   {rows});
    };
    if (left.u) get_column(-1, left, left.columns - 1);
    if (right.u) get_column(mine.columns, right, 0);
    relax();
    for (block* each : {&mine, &above, &below, &left, &right}) std::swap(each->u, each->next);
  }

  double own = 0;
  for (std::ptrdiff_t i = 0; i < mine.rows; ++i)
    for (std::ptrdiff_t j = 0; j < mine.columns; ++j) own += mine.u.local()[mine.at(i, j)];
  situ::at(situ::place{0}, [](double more) { heat += more; }, own);
  situ::barrier();
  if (situ::here().index() == 0) std::printf("%.9f\n", heat);
  situ::deallocate(mine.u);
  situ::deallocate(mine.next);
}
