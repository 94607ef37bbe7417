#include <situ/base/detail/assert.h>

#include <cstdio>
#include <cstdlib>

namespace situ::detail {

void assertion_failed(const char* condition, const char* fix, const char* file, int line) noexcept {
  std::fprintf(stderr, "situ: assertion failed: %s\n  at %s:%d\n  %s\n", condition, file, line, fix);
  std::fflush(stderr);
  std::abort();
}

}  // namespace situ::detail
