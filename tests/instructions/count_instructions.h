// Counts the instructions of operations, one by one: a child process runs them, and its parent lets it take single
// steps (ptrace). Exact, the same each time, without a profiler; a step costs 3 to 20 us. Instructions of the kernel do
// not count.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::test {

// In the child: the instructions of `repeat` calls of `operation`, after a few that are not counted, go to the parent
// as the next count.
template <class Operation>
void count_steps(int repeat, Operation operation);

// Runs `body` in a child process and returns the counts that it has made, in order; empty, with `why` set, where that
// cannot be had: the child failed, or may not be traced.
[[nodiscard]] std::vector<std::uint64_t> counts_of(void (*body)(), std::string& why);

void begin_steps() noexcept;
void end_steps() noexcept;

template <class Operation>
void count_steps(int repeat, Operation operation) {
  for (int i = 0; i < 300; ++i) operation();
  begin_steps();
  for (int i = 0; i < repeat; ++i) operation();
  end_steps();
}

}  // namespace situ::test
