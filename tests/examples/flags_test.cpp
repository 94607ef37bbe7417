// Jacobi's iteration by signals, by barriers and by a loop of progress: the same bits, on every layout.
#include "command.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using package_rank::test::situ_run;

TEST(flags, gives_the_same_bits_in_each_way) {
  for (const unsigned places : {1U, 2U, 4U}) {
    std::string first;
    for (const bool in_process : {false, true}) {
      for (const char* way : {"signals", "barriers", "progress"}) {
        const auto result = situ_run(places, in_process, "flags", {way, "200", "32"});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        if (first.empty()) first = result.out;
        EXPECT_EQ(result.out, first) << way << " at " << places << (in_process ? " threads" : " processes");
      }
    }
    EXPECT_GT(std::stod(first), 1.0);
  }
}

}  // namespace
