// Test bodies of the fabric and the runtime (tests/support/places.h), as a job over hosts that a launcher has started:
// each of its places runs this program, which is the tests in their order. The job is one for all of them.
#include <situ/situ.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "support/places.h"

namespace {

// Others start places of their own. Nor those that read or write all places' memory by pointers (hosts_probe.cpp has
// boxes), lose a place, limit a job's memory, or want a graph to go by another way than a message.
constexpr const char* bodies =
    "layouts/*-layouts/rma.strided*:layouts/rma.indexed*:layouts/barriers.publish_plain_writes/*:*lost*:*_lose_*:"
    "*_of_a_loss_*:*_the_loss_of_*:*survivors*:*_no_room_*:no_room_*:*_without_room_*:"
    "layouts/graph_calls.tell_of_each_copy/*:layouts/graph_transfers.*";

}  // namespace

int main(int argc, char** argv) {
  try {
    situ::runtime rt{argc, argv};  // first: layouts are asked for how many places there are
    situ::test::set_in_job();
    GTEST_FLAG_SET(filter, bodies);
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
