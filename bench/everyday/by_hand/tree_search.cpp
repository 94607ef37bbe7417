// examples/guide/tree_search.cpp with the foundation alone: the boards of a few queens are numbered, and a counter at
// place 0 hands the numbers out.
#include <situ/situ.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

thread_local situ::ptr<std::uint64_t> given_out;  // at place 0: boards
thread_local std::uint64_t mine = 0;              // the board to search next
thread_local std::uint64_t seen = 0;              // boards so far, whoever searches them
thread_local long solutions = 0;                  // that this place has found; at place 0, at the end, all

struct board {  // with queens in its first rows; a bit for each column that is no more free in the next row
  std::uint32_t columns = 0, left = 0, right = 0;
  int rows = 0;
};

constexpr int rows_of_tasks = 4;

void place_queens(board b, int queens, situ::ptr<std::uint64_t> counter) {
  const bool is_dealt = b.rows == std::min(rows_of_tasks, queens);
  if (is_dealt && seen++ != mine) return;
  if (b.rows == queens) ++solutions;
  for (std::uint32_t free = ~(b.columns | b.left | b.right) & ((1U << queens) - 1); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & -free;
    place_queens({b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1, b.rows + 1}, queens, counter);
  }
  if (is_dealt) mine = situ::atomic_fetch_add(counter, std::uint64_t{1});
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("by_hand_tree_search [queens, 10]");
    return 0;
  }
  const int queens = argc > 1 ? std::atoi(argv[1]) : 10;  // at most 31

  if (situ::here().index() == 0) {
    given_out = situ::allocate<std::uint64_t>();
    situ::put(given_out, 0);
  }
  situ::barrier();
  const situ::ptr<std::uint64_t> counter = situ::at(situ::place{0}, [] { return given_out; });
  mine = situ::atomic_fetch_add(counter, std::uint64_t{1});
  place_queens({}, queens, counter);
  if (situ::here().index() != 0) situ::at(situ::place{0}, [](long more) { solutions += more; }, solutions);
  situ::barrier();
  if (situ::here().index() == 0) std::printf("%ld solutions\n", solutions);
}
