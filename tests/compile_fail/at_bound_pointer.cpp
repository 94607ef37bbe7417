// expect: a raw pointer cannot travel as a value
#include <situ/runtime/at.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using bound = situ::ptr<int>;
#else
using bound = int*;
#endif

int ask(situ::place there, bound b) {
  return situ::at(there, situ::bind_values([](const bound& x, int n) { return x ? n : 0; }, b), 1);
}
