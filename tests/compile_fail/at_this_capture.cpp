// expect: captures a reference, a pointer .also `this`., or what is no plain data
// one error
#include <situ/runtime/at.h>

struct counter {
  int step = 1;
  int ask(situ::place there) {
#ifdef SITU_COMPILE_FAIL_CONTROL
    return situ::at(there, [step = step] { return step; });
#else
    return situ::at(there, [this] { return step; });
#endif
  }
};
int ask(situ::place there) { return counter{}.ask(there); }
