// expect: a lambda that runs at another place must not capture.*pass what it needs as arguments of at
#include <situ/runtime/at.h>

situ::future<int> ask(situ::place there, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::async_at(there, [](int m) { return m + 1; }, n);
#else
  return situ::async_at(there, [n] { return n + 1; });
#endif
}
