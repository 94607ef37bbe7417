// The version of the headers, which the build and the packages repeat.
#include <situ/version.h>

#include <gtest/gtest.h>

#include <string>

TEST(version, is_one_in_every_form) {
  EXPECT_EQ(SITU_VERSION, SITU_VERSION_MAJOR * 10000 + SITU_VERSION_MINOR * 100 + SITU_VERSION_PATCH);
  EXPECT_EQ(SITU_VERSION_STRING, std::to_string(SITU_VERSION_MAJOR) + "." + std::to_string(SITU_VERSION_MINOR) + "." +
                                     std::to_string(SITU_VERSION_PATCH));
  EXPECT_STREQ(SITU_VERSION_STRING, SITU_TEST_PROJECT_VERSION);
#if SITU_VERSION < 100
  FAIL() << "not usable in the preprocessor";
#endif
}
