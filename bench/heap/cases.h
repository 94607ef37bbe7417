// The cases of `situ bench heap`, by file, and the objects that they use. Both places call each one; place 0 measures.
#pragma once

#include <situ/heap/object_heap.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/job_samples.h"

namespace heap_bench {

// With its header of 16 bytes an object takes 44 bytes, the average of the paper; it begins at a multiple of 16.
struct cell {
  std::uint32_t value;
  situ::ref<cell> next;
  std::uint32_t rest[5];
};
static_assert(sizeof(cell) == 28);
inline constexpr std::size_t cell_bytes = 48;

// A program with pointers has such an object: a pointer takes eight bytes.
struct plain_cell {
  std::uint64_t header[2];
  plain_cell* next;
  std::uint32_t value;
  std::uint32_t rest[5];
};
static_assert(sizeof(plain_cell) == cell_bytes);

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "situ bench heap: %s\n", what);
  std::exit(1);
}
template <class Body>
double time_of(Body body) {
  const double begin = job_bench::now_ns();
  body();
  return job_bench::now_ns() - begin;
}
inline bool is_wanted(std::initializer_list<const char*> cases) {
  for (const char* const each : cases)
    if (job_bench::is_wanted(each)) return true;
  return false;
}

void reads();        // reads.cpp
void barriers();     // barriers.cpp
void allocations();  // allocations.cpp
void moves();        // moves.cpp
void pauses();       // pauses.cpp

}  // namespace heap_bench
