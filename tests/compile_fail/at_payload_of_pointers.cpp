// The elements of a payload are read as they arrive: values only.
// expect: the elements of a situ::payload are trivially copyable values without pointers
#include <situ/runtime/at.h>

#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using number = int;
#else
using number = int*;
#endif

auto ask(situ::place there, const std::vector<number>& numbers) {
  return situ::at(there, [](situ::payload<number> v) { return v.size(); }, situ::payload{numbers});
}
