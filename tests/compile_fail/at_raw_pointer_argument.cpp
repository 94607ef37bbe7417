// expect: this argument cannot travel: at\(\) takes trivially copyable values \(no raw pointers or references: use
// situ::ptr\)
#include <situ/runtime/at.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
int ask(situ::place there, situ::ptr<int> p) {
  return situ::at(there, [](situ::ptr<int> q) { return *q.local(); }, p);
}
#else
int ask(situ::place there, int* p) {
  return situ::at(there, [](int* q) { return *q; }, p);
}
#endif
