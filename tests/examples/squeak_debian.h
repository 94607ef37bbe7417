// Tests of a real image, that of Debian's package scratch.
#pragma once

#include <filesystem>

#include "debian_files.h"

namespace squeak::test {

// CI has the packages, and skips nothing.
inline bool may_skip() { return std::getenv("SITU_SQUEAK_IS_NEEDED") == nullptr; }

// Skips a test, or fails it if nothing may be skipped, if there is no image.
#define SQUEAK_NEEDS_IMAGE()                                                           \
  do {                                                                                 \
    if (std::filesystem::exists(squeak::debian_image())) break;                        \
    ASSERT_TRUE(squeak::test::may_skip()) << "there is no " << squeak::debian_image(); \
    GTEST_SKIP() << "there is no " << squeak::debian_image()                           \
                 << ": install Debian's package scratch, or set SITU_SQUEAK_IMAGE";    \
  } while (false)

}  // namespace squeak::test
