// Test bodies of the fabric and the runtime (tests/support/places.h), as a job over hosts that a launcher has started:
// each of its places runs this program, which is the tests in their order. The job is one for all of them.
#include <situ/situ.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    situ::runtime rt{argc, argv};  // first: layouts are asked for how many places there are
    // Others start places of their own, or touch the memory of all places (hosts_probe.cpp has boxes).
    GTEST_FLAG_SET(filter, "layouts/*-layouts/rma.strided*:layouts/rma.indexed*");
    testing::InitGoogleTest(&argc, argv);
    if (situ::here().index() != 0) {
      auto& listeners = testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
    }
    return RUN_ALL_TESTS();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bodies: %s\n", e.what());
    return 1;
  }
}
