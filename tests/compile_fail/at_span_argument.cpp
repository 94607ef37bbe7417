// A span travels to a body that takes one: for another, its elements travel as a vector.
// expect: a view cannot travel within a value
// expect: as an argument it travels if the body takes std::span<const T>
// one error
#include <situ/runtime/at.h>

#include <span>
#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using numbers = std::span<const int>;
#else
using numbers = std::vector<std::span<const int>>;
#endif

std::size_t ask(situ::place there, const numbers& n) {
  return situ::at(there, [](const numbers& m) { return m.size(); }, n);
}
