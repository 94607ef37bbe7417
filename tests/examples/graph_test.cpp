// Rows, the transpose and the partition.
#include "graph.h"
#include "graph_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace package_rank {
namespace {

using test::has_edge;
using test::make_graph;
using test::random_graph;
using testing::ElementsAre;

TEST(Graph, RowsAreSortedAndCleaned) {
  const graph g = make_graph({{2, 1, 2, 0}, {}, {0}});
  EXPECT_EQ(g.vertex_count(), 3u);
  EXPECT_EQ(g.edge_count(), 3u);
  EXPECT_THAT(g.row(0), ElementsAre(1, 2));
  EXPECT_THAT(g.row(1), ElementsAre());
  EXPECT_THAT(g.row(2), ElementsAre(0));
}

TEST(Graph, TransposeTurnsEveryEdge) {
  const unsigned seed = 17;
  std::mt19937 random{seed};
  for (int round = 0; round < 200; ++round) {
    const graph g = random_graph(random, 1 + random() % 40);
    const graph t = transpose(g);
    ASSERT_EQ(t.vertex_count(), g.vertex_count());
    ASSERT_EQ(t.edge_count(), g.edge_count());
    for (vertex a = 0; a < g.vertex_count(); ++a)
      for (vertex b = 0; b < g.vertex_count(); ++b)
        ASSERT_EQ(has_edge(g, a, b), has_edge(t, b, a)) << "seed " << seed << ", round " << round;
    EXPECT_EQ(transpose(t).targets, g.targets);
  }
}

TEST(Partition, LiteralCases) {
  EXPECT_THAT(partition(graph{}, 3), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(partition(make_graph({{}, {}, {}, {}}), 1), ElementsAre(0, 4));
  EXPECT_THAT(partition(make_graph({{}, {}, {}, {}}), 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(partition(make_graph({{}, {}}), 4), ElementsAre(0, 1, 1, 2, 2));
  // Weights 7, 4, 4, 4: a share of 9.5 ends within the second vertex.
  EXPECT_THAT(partition(make_graph({{1, 2, 3}, {}, {}, {}}), 2), ElementsAre(0, 2, 4));
}

TEST(Partition, RangesCoverAndBalance) {
  const unsigned seed = 4;
  std::mt19937 random{seed};
  for (int round = 0; round < 500; ++round) {
    const graph g = random_graph(random, random() % 300 + 1);
    const std::uint32_t parts = 1 + random() % 9;
    const std::vector<vertex> boundaries = partition(g, parts);
    ASSERT_EQ(boundaries.size(), parts + 1);
    EXPECT_EQ(boundaries.front(), 0u);
    EXPECT_EQ(boundaries.back(), g.vertex_count());
    const auto weight = [&](vertex begin, vertex end) {
      return g.offsets[end] - g.offsets[begin] + vertex_weight * (end - begin);
    };
    std::uint64_t heaviest = 0;
    for (vertex v = 0; v < g.vertex_count(); ++v) heaviest = std::max(heaviest, weight(v, v + 1));
    for (std::uint32_t part = 0; part < parts; ++part) {
      ASSERT_LE(boundaries[part], boundaries[part + 1]);
      EXPECT_LE(weight(boundaries[part], boundaries[part + 1]), weight(0, g.vertex_count()) / parts + 1 + heaviest)
          << "seed " << seed << ", round " << round << ", part " << part;
    }
  }
}

}  // namespace
}  // namespace package_rank
