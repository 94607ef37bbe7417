// A dataset has one extent for each dimension of its block; those that an array fills up are zero.
// expect: the dataset has other dimensions than its block
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void make(const block<3>& cube, int n) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  const dataset<double, 3> u{cube, "u", {n, n, n}, 1};
#else
  const dataset<double, 3> u{cube, "u", {n, n}, 1};
#endif
}
