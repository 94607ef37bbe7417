// A future belongs to the place that made it.
// expect: this argument cannot travel
#include <situ/runtime/at.h>

int ask(situ::place there, const situ::future<int>& f) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(there, [](int n) { return n; }, f.get());
#else
  return situ::at(there, [](const situ::future<int>& g) { return g.get(); }, f);
#endif
}
