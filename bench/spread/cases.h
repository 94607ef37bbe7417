// The cases of situ_bench_spread that have files of their own.
#pragma once

#include "support/job_samples.h"

namespace situ_spread {

using namespace job_bench;

inline std::uint64_t next_random(std::uint64_t& state) {  // xorshift
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

void measure_arrays();
void measure_uts();
void measure_sort();

}  // namespace situ_spread
