// A loop over a plane cannot take a dataset of three dimensions; a column or a plane of a larger one is a dataset with
// extent 1 there.
// expect: the dataset has other dimensions than the block
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void queue(const block<2>& grid, const dataset<double, 2>& plane, const dataset<double, 3>& cube) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  (void)cube;
  par_loop("clear", grid, range(0, 4, 0, 4), [](auto x) { x(0, 0) = 0; }, write(plane));
#else
  (void)plane;
  par_loop("clear", grid, range(0, 4, 0, 4), [](auto x) { x(0, 0, 0) = 0; }, write(cube));
#endif
}
