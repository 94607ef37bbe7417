// tree_search: in how many ways so many queens stand on a board. The tree of partial boards is searched by whichever
// place is free; nobody says where a task runs. A board with few queens is a task, one with more is searched at once.
//
//   situ run -n 4 tree_search [queens, 10]
#include <situ/situ.h>
#include <situ/spread/task_pool.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

struct board {  // with queens in its first rows; a bit for each column that is no more free in the next row
  std::uint32_t columns = 0, left = 0, right = 0;
  int rows = 0;
};

constexpr int rows_of_tasks = 4;

long place_queens(situ::task_pool& pool, board b, int queens) {
  long solutions = b.rows == queens ? 1 : 0;
  for (std::uint32_t free = ~(b.columns | b.left | b.right) & ((1U << queens) - 1); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & -free;
    const board next{b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1, b.rows + 1};
    if (next.rows <= rows_of_tasks)
      pool.add(place_queens, next, queens);
    else
      solutions += place_queens(pool, next, queens);
  }
  return solutions;
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const int queens = argc > 1 ? std::atoi(argv[1]) : 10;  // at most 31

  situ::task_pool pool;
  if (situ::here().index() == 0) pool.add(place_queens, board{}, queens);
  const long solutions = pool.run(0L, std::plus<>{});
  if (situ::here().index() == 0) std::printf("%ld solutions\n", solutions);
}
