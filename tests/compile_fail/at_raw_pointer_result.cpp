// expect: this result cannot travel: at\(\) returns void, trivially copyable values \(no raw pointers or references:
// use situ::ptr\)
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
