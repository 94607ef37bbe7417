// expect: atomics work on 32- and 64-bit integers and on double
#include <situ/fabric/atomic.h>

#include <cstdint>

struct pair_of_counts {
  std::uint32_t first;
  std::uint32_t second;
};
#ifdef SITU_COMPILE_FAIL_CONTROL
using word = std::uint64_t;
#else
using word = pair_of_counts;
#endif

word read(situ::ptr<word> there) { return situ::atomic_load(there); }
