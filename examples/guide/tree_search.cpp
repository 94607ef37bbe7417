// tree_search: in how many ways so many queens stand on a board. The tree of partial boards is searched by whichever
// place is free; nobody says where a task runs. A board with few queens is a task, one with more is searched at once.
//
//   situ run -n 4 tree_search [queens, 10]
#include <situ/situ.h>
#include <situ/spread/task_pool.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace {

struct board {  // with queens in its first rows; a bit for each column that is no more free in the next row
  std::uint32_t columns = 0, left = 0, right = 0;
  int rows = 0;
};

constexpr int rows_of_tasks = 4;

thread_local long solutions = 0;  // that this place has found

std::uint32_t free_columns(board b, int queens) { return ~(b.columns | b.left | b.right) & ((1U << queens) - 1); }
board with_queen(board b, std::uint32_t queen) {
  return {b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1, b.rows + 1};
}

void search(board b, int queens) {
  if (b.rows == queens) ++solutions;
  for (std::uint32_t free = free_columns(b, queens); free != 0; free &= free - 1)
    search(with_queen(b, free & -free), queens);
}

void place_queens(situ::task_pool& pool, board b, int queens) {
  if (b.rows == std::min(rows_of_tasks, queens)) return search(b, queens);
  for (std::uint32_t free = free_columns(b, queens); free != 0; free &= free - 1)
    pool.add(place_queens, with_queen(b, free & -free), queens);
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("tree_search [queens, 10]");
    return 0;
  }
  const int queens = argc > 1 ? std::atoi(argv[1]) : 10;  // at most 31

  situ::task_pool pool;
  if (situ::here().index() == 0) pool.add(place_queens, board{}, queens);
  pool.run();
  const long all = situ::all_reduce(solutions, std::plus<>{});
  if (situ::here().index() == 0) std::printf("%ld solutions\n", all);
}
