// examples/guide/tree_search.cpp with the foundation alone: each place has a stack of boards, and who has none asks the
// others in turn for half of theirs. A counter of the boards that are not done yet, at place 0, tells the end.
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct board {  // with queens in its first rows; a bit for each column that is no more free in the next row
  std::uint32_t columns = 0, left = 0, right = 0;
  int rows = 0;
};

constexpr int rows_of_tasks = 4;

thread_local std::vector<board> boards;         // of this place, to be searched
thread_local situ::ptr<std::int64_t> not_done;  // at place 0: boards of all
thread_local long solutions = 0;                // that this place has found; at place 0, at the end, all

void place_queens(board b, int queens) {
  if (b.rows == queens) ++solutions;
  for (std::uint32_t free = ~(b.columns | b.left | b.right) & ((1U << queens) - 1); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & -free;
    const board next{b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1, b.rows + 1};
    if (next.rows <= rows_of_tasks)
      boards.push_back(next);
    else
      place_queens(next, queens);
  }
}

std::vector<board> give_half() {  // the oldest, whose trees are the largest
  const auto end = boards.begin() + static_cast<std::ptrdiff_t>((boards.size() + 1) / 2);
  const std::vector<board> given(boards.begin(), end);
  boards.erase(boards.begin(), end);
  return given;
}

void search_all(int queens, situ::ptr<std::int64_t> all_not_done) {
  for (std::uint32_t victim = situ::here().index(); situ::atomic_load(all_not_done) != 0; ++victim) {
    while (!boards.empty()) {
      const board newest = boards.back();
      boards.pop_back();
      const std::size_t before = boards.size();
      place_queens(newest, queens);
      situ::atomic_fetch_add(all_not_done, static_cast<std::int64_t>(boards.size() - before) - 1);
      situ::progress();  // somebody may ask
    }
    boards = situ::at(situ::place{victim % situ::place_count()}, give_half);
  }
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const int queens = argc > 1 ? std::atoi(argv[1]) : 10;  // at most 31

  if (situ::here().index() == 0) {
    boards.push_back({});
    not_done = situ::allocate<std::int64_t>();
    situ::put(not_done, 1);
  }
  situ::barrier();
  search_all(queens, situ::at(situ::place{0}, [] { return not_done; }));
  if (situ::here().index() != 0) situ::at(situ::place{0}, [](long more) { solutions += more; }, solutions);
  situ::barrier();
  if (situ::here().index() == 0) std::printf("%ld solutions\n", solutions);
}
