#include <situ/base/detail/assert.h>

#include <cstdlib>

#include "base/print.h"

namespace situ::detail {

void assertion_failed(const char* condition, const char* fix, const char* file, int line) noexcept {
  tell("situ: assertion failed: {}\n  at {}:{}\n  {}\n", condition, file, line, fix);
  std::abort();
}

}  // namespace situ::detail
