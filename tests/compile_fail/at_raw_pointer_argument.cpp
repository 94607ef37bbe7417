// expect: a raw pointer cannot travel as a value.*make it a situ::ptr
// one error
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
