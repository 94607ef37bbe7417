// A sum of doubles is no int.
// expect: the kernel must take one parameter for each argument of the loop
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void queue(const block<2>& grid, const dataset<double, 2>& u, const reduction<double>& total) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  par_loop("sum", grid, range(0, 4, 0, 4), [](auto x, double& s) { s += x(0, 0); }, read(u), sum(total));
#else
  par_loop("sum", grid, range(0, 4, 0, 4), [](auto x, int& s) { s += x(0, 0); }, read(u), sum(total));
#endif
}
