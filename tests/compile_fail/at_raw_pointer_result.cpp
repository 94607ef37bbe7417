// expect: a raw pointer cannot travel as a value.*make it a situ::ptr
// one error
#include <situ/runtime/at.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::ptr<int> make(situ::place there) {
  return situ::at(there, [] { return situ::allocate<int>(); });
}
#else
int* make(situ::place there) {
  return situ::at(there, [] { return situ::allocate<int>().local(); });
}
#endif
