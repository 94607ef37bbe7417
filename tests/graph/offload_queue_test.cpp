// Where entries of a queue are waited for: who awaits one should not look again whenever any other has changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "graph/agent.h"
#include "graph/change_gate.h"

namespace {

using namespace situ::detail;

TEST(offload_queue, entries_share_their_change_counters_evenly) {
  const auto queue = std::make_unique<offload_queue>();
  std::array<int, graph_signals::change_buckets> entries{};
  for (const offload_entry& each : queue->entries) ++entries[change_bucket(&each)];
  EXPECT_EQ(*std::min_element(entries.begin(), entries.end()), 2);
  EXPECT_EQ(*std::max_element(entries.begin(), entries.end()), 2);
}

}  // namespace
