// A promise is kept once.
// expect: use of deleted function .*situ::promise<int>::promise\(const situ::promise<int>&\)
#include <situ/runtime/future.h>

#include <utility>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::promise<int> pass_on(situ::promise<int>& p) { return std::move(p); }
#else
situ::promise<int> pass_on(situ::promise<int>& p) { return p; }
#endif
