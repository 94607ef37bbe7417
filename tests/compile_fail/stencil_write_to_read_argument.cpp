// What a loop declares as read, its kernel cannot write.
// expect: lvalue required as left operand of assignment
#include <situ/stencil/stencil.h>

using namespace situ::stencil;

void queue(const block<2>& grid, const dataset<double, 2>& u) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  par_loop("clear", grid, range(0, 4, 0, 4), [](auto x) { x(0, 0) = 0; }, write(u));
#else
  par_loop("clear", grid, range(0, 4, 0, 4), [](auto x) { x(0, 0) = 0; }, read(u));
#endif
}
