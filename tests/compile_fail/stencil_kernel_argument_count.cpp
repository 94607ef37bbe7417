// A kernel has one parameter for each argument of its loop.
// expect: the kernel must take one parameter for each argument of the loop
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void queue(const block<2>& grid, const dataset<double, 2>& u, const dataset<double, 2>& v) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  par_loop("copy", grid, range(0, 4, 0, 4), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(u), write(v));
#else
  par_loop("copy", grid, range(0, 4, 0, 4), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(u), write(v), index());
#endif
}
