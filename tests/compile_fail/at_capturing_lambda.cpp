// expect: captures a reference, a pointer .also `this`., or what is no plain data
// expect: pass all else as arguments of at
// one error
#include <situ/runtime/at.h>

int ask(situ::place there, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(there, [](int m) { return m + 1; }, n);
#else
  return situ::at(there, [&] { return n + 1; });
#endif
}
