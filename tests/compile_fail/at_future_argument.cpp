// A future belongs to the place that made it.
// expect: nothing is known of this class: list its fields once with SITU_DESCRIBE
// one error
#include <situ/runtime/at.h>

int ask(situ::place there, const situ::future<int>& f) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(there, [](int n) { return n; }, f.get());
#else
  return situ::at(there, [](const situ::future<int>& g) { return g.get(); }, f);
#endif
}
