// A span is two words that point into private memory; its elements travel as a vector.
// expect: this argument cannot travel
#include <situ/runtime/at.h>

#include <span>
#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using numbers = std::vector<int>;
#else
using numbers = std::span<const int>;
#endif

std::size_t ask(situ::place there, const numbers& n) {
  return situ::at(there, [](const numbers& m) { return m.size(); }, n);
}
