// expect: a raw pointer cannot travel as a value
// one error
#include <situ/spread/sort.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using element = double;
#else
using element = double*;
#endif

std::vector<element> in_order(const std::vector<element>& mine) { return situ::sort(mine); }
