// A std::function keeps its state where nobody can copy it from.
// expect: captures a reference, a pointer .also `this`., or what is no plain data
// one error
#include <situ/runtime/at.h>

#include <functional>

#ifdef SITU_COMPILE_FAIL_CONTROL
int ask(situ::place there, int (*f)(int)) { return situ::at(there, f, 1); }
#else
int ask(situ::place there, const std::function<int(int)>& f) { return situ::at(there, f, 1); }
#endif
