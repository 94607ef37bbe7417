// expect: atomics work on 32- and 64-bit integers and on double
#include <situ/fabric/atomic.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using number = double;
#else
using number = float;
#endif

number add(situ::ptr<number> counter) { return situ::atomic_fetch_add(counter, 1); }
