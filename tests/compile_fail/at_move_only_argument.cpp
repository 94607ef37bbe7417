// expect: this argument cannot travel
#include <situ/runtime/at.h>

#include <memory>
#include <optional>

#ifdef SITU_COMPILE_FAIL_CONTROL
using box = std::optional<int>;
#else
using box = std::unique_ptr<int>;
#endif

int ask(situ::place there, const box& b) {
  return situ::at(there, [](const box& c) { return *c; }, b);
}
