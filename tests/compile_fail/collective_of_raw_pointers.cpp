// expect: a raw pointer cannot travel as a value
// one error
#include <situ/memory/ptr.h>
#include <situ/runtime/collective.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using pointer = situ::ptr<int>;
#else
using pointer = int*;
#endif

std::vector<pointer> everyones(pointer mine) { return situ::all_gather(mine); }
