// expect: atomics work on 32- and 64-bit integers and on double
#include <situ/fabric/atomic.h>

#include <cstdint>

#ifdef SITU_COMPILE_FAIL_CONTROL
using number = std::uint32_t;
#else
using number = std::uint16_t;
#endif

number add(situ::ptr<number> counter) { return situ::atomic_fetch_add(counter, 1); }
