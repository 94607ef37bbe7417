// expect: a lambda that runs at another place must not capture.*pass what it needs as arguments of at
#include <situ/runtime/at.h>

int ask(situ::place there, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(there, [](int m) { return m + 1; }, n);
#else
  return situ::at(there, [&] { return n + 1; });
#endif
}
