// A payload names elements in a message, so it does not outlive the call.
// expect: a view cannot travel within a value
// one error
#include <situ/runtime/at.h>

#include <vector>

auto ask(situ::place there, const std::vector<int>& numbers) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(
      there, [](situ::payload<int> v) { return std::vector<int>(v.begin(), v.end()); }, situ::payload{numbers});
#else
  return situ::at(there, [](situ::payload<int> v) { return v; }, situ::payload{numbers});
#endif
}
