// The function would change a copy, which its author does not expect.
// expect: the function cannot be called with these arguments \(they arrive by value: take them by value or const
// reference\)
#include <situ/runtime/at.h>

void ask(situ::place there, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  n = situ::at(there, [](int m) { return m + 1; }, n);
#else
  situ::at(there, [](int& m) { ++m; }, n);
#endif
}
