// expect: bitwise atomics work on 32- and 64-bit integers
#include <situ/fabric/atomic.h>

#include <cstdint>

#ifdef SITU_COMPILE_FAIL_CONTROL
using word = std::uint64_t;
#else
using word = double;
#endif

word set(situ::ptr<word> flags) { return situ::atomic_fetch_or(flags, 1); }
