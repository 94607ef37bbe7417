// What is within a container travels by the same rules.
// expect: a raw pointer cannot travel as a value
// expect: std::vector<int.>
// one error
#include <situ/runtime/at.h>

#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using element = situ::ptr<int>;
#else
using element = int*;
#endif

std::size_t ask(situ::place there, const std::vector<element>& elements) {
  return situ::at(there, [](const std::vector<element>& e) { return e.size(); }, elements);
}
