// expect: no match for call to
#include <situ/spread/distributed_array.h>

double corner(const situ::distributed_array<double, 2>& u) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return u.local_view()(0, 0);
#else
  return u.local_view()(0);
#endif
}
