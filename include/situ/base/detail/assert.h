// SITU_ASSERT(level, condition, "what to do"): reports a caller's bug or a broken invariant. Prints the source line,
// the condition and the fix to standard error, then aborts. Levels: 1 cheap, 2 thorough, 3 expensive; assertions above
// SITU_ASSERT_LEVEL compile to nothing (the condition is still parsed).
#pragma once

#include <situ/base/detail/abi.h>

#ifndef SITU_ASSERT_LEVEL
#define SITU_ASSERT_LEVEL 1
#endif

namespace situ::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* fix, const char* file, int line) noexcept;
}

#define SITU_ASSERT(level, condition, fix)                                     \
  do {                                                                         \
    if constexpr ((level) <= SITU_ASSERT_LEVEL) {                              \
      if (!(condition)) [[unlikely]]                                           \
        ::situ::detail::assertion_failed(#condition, fix, __FILE__, __LINE__); \
    }                                                                          \
  } while (false)
