// What is fetched or stored has a range like a loop.
// expect: the range has other dimensions than what it is a range of
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

std::vector<double> take(const dataset<double, 2>& u) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  u.store(range(0, 2, 0, 1), std::vector<double>{1, 2});
  return u.fetch(range(0, 4, 0, 4));
#else
  return u.fetch(range(0, 4));
#endif
}
