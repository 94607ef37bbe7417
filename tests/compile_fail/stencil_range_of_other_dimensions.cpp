// A range of two dimensions is no range of a cube: the loop would run over the plane with index 0.
// expect: the range has other dimensions than what it is a range of
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void queue(const block<3>& cube, const dataset<double, 3>& u, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  par_loop("clear", cube, range(0, n, 0, n, 0, n), [](auto x) { x(0, 0, 0) = 0; }, write(u));
#else
  par_loop("clear", cube, range(0, n, 0, n), [](auto x) { x(0, 0, 0) = 0; }, write(u));
#endif
}
