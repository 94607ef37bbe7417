// expect: a std::vector<bool> has no elements to sort: count them
#include <situ/spread/sort.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using element = char;
#else
using element = bool;
#endif

std::vector<element> in_order(const std::vector<element>& mine) { return situ::sort(mine); }
