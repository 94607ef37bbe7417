// The sequential reference: cases worked by hand, and quadratic answers on random graphs.
#include "reference.h"
#include "graph_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace package_rank {
namespace {

using test::has_edge;
using test::make_graph;
using test::random_graph;
using testing::ElementsAre;
using testing::IsEmpty;

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST(ReferenceRanks, NothingAndOneVertex) {
  EXPECT_THAT(reference_ranks(graph{}, {}).ranks, IsEmpty());
  EXPECT_THAT(reference_ranks(make_graph({{}}), {}).ranks, ElementsAre(1.0));
}

TEST(ReferenceRanks, ACycleIsUniform) {
  const rank_result result = reference_ranks(make_graph({{1}, {2}, {0}}), {});
  for (const double rank : result.ranks) EXPECT_NEAR(rank, 1.0 / 3, 1e-15);
  EXPECT_EQ(result.iterations, 1u);
}

// a -> b, and b gives its rank back to both: a = 0.075 + 0.425 b, b = a + 0.85 a, hence a = 20/57, b = 37/57.
TEST(ReferenceRanks, TwoVerticesByHand) {
  const rank_result result = reference_ranks(make_graph({{1}, {}}), {});
  ASSERT_TRUE(result.converged({}));
  EXPECT_NEAR(result.ranks[0], 20.0 / 57, 1e-12);
  EXPECT_NEAR(result.ranks[1], 37.0 / 57, 1e-12);
}

TEST(ReferenceRanks, StopsAtTheLimit) {
  const rank_result result = reference_ranks(make_graph({{1}, {}}), {.max_iterations = 2});
  EXPECT_EQ(result.iterations, 2u);
  EXPECT_FALSE(result.converged({}));
  EXPECT_GT(result.residual, 0.01);
}

// The same number of steps with the full matrix of the surfer: M[v][u] = the chance to go from u to v.
std::vector<double> dense_ranks(const graph& g, double damping, std::uint32_t iterations) {
  const vertex n = g.vertex_count();
  std::vector<std::vector<double>> chance(n, std::vector<double>(n, (1 - damping) / n));
  for (vertex u = 0; u < n; ++u) {
    const double out = static_cast<double>(g.row(u).size());
    for (vertex v = 0; v < n; ++v) {
      if (out == 0)
        chance[v][u] += damping / n;
      else if (has_edge(g, u, v))
        chance[v][u] += damping / out;
    }
  }
  std::vector<double> ranks(n, 1.0 / n);
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::vector<double> next(n);
    for (vertex v = 0; v < n; ++v) next[v] = std::inner_product(ranks.begin(), ranks.end(), chance[v].begin(), 0.0);
    ranks.swap(next);
  }
  return ranks;
}

TEST(ReferenceRanks, AgreesWithTheDenseMatrix) {
  const unsigned seed = 85;
  std::mt19937 random{seed};
  for (int round = 0; round < 150; ++round) {
    const graph g = random_graph(random, 1 + random() % 50);
    const double damping = 0.5 + 0.05 * (random() % 9);
    const rank_result result = reference_ranks(g, {.damping = damping, .tolerance = 1e-13});
    ASSERT_LT(result.residual, 1e-13);
    EXPECT_NEAR(sum(result.ranks), 1.0, 1e-12);
    const std::vector<double> dense = dense_ranks(g, damping, result.iterations);
    for (vertex v = 0; v < g.vertex_count(); ++v)
      ASSERT_NEAR(result.ranks[v], dense[v], 1e-14) << "seed " << seed << ", round " << round << ", vertex " << v;
  }
}

std::vector<vertex> chain(std::vector<std::vector<vertex>> dependencies, std::vector<std::uint8_t> marks,
                          vertex target) {
  return reference_chain(transpose(make_graph(std::move(dependencies))), marks, target);
}

constexpr std::uint8_t unused = 0, plain = usable, asked = usable | root;

TEST(ReferenceChain, LiteralCases) {
  EXPECT_THAT(chain({{1}, {2}, {}}, {asked, plain, plain}, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(chain({{1, 2}, {2}, {}}, {asked, plain, plain}, 2), ElementsAre(0, 2)) << "the shorter one";
  EXPECT_THAT(chain({{1}, {2}, {}}, {asked, asked, plain}, 2), ElementsAre(1, 2)) << "the nearest root";
  EXPECT_THAT(chain({{2}, {2}, {}}, {asked, asked, plain}, 2), ElementsAre(0, 2)) << "the smaller root";
  EXPECT_THAT(chain({{1, 2}, {3}, {3}, {}}, {asked, plain, plain, plain}, 3), ElementsAre(0, 1, 3))
      << "the smaller way";
  EXPECT_THAT(chain({{1, 2}, {3}, {3}, {}}, {asked, unused, plain, plain}, 3), ElementsAre(0, 2, 3))
      << "through usable vertices only";
}

TEST(ReferenceChain, RootsAndUnreachable) {
  EXPECT_THAT(chain({{1}, {}}, {asked, asked}, 1), ElementsAre(0, 1)) << "a root is explained by another root";
  EXPECT_THAT(chain({{1}, {0}}, {plain, asked}, 1), IsEmpty()) << "but not by itself";
  EXPECT_THAT(chain({{}, {}}, {asked, plain}, 1), IsEmpty());
  EXPECT_THAT(chain({{1}, {}}, {asked, unused}, 1), IsEmpty()) << "what is not installed needs no reason";
}

// All distances to the target by relaxing every edge n times; then the chain by the rule, read literally.
std::vector<vertex> naive_chain(const graph& dependencies, const std::vector<std::uint8_t>& marks, vertex target) {
  const vertex n = dependencies.vertex_count();
  std::vector<vertex> distance(n, no_vertex);
  if ((marks[target] & usable) != 0) distance[target] = 0;
  for (vertex round = 0; round < n; ++round)
    for (vertex a = 0; a < n; ++a)
      for (vertex b = 0; b < n; ++b)
        if ((marks[a] & usable) != 0 && distance[b] != no_vertex && has_edge(dependencies, a, b))
          distance[a] = std::min(distance[a], distance[b] + 1);
  vertex at = no_vertex;
  for (vertex v = 0; v < n; ++v)
    if (v != target && (marks[v] & root) != 0 && distance[v] != no_vertex &&
        (at == no_vertex || distance[v] < distance[at]))
      at = v;
  if (at == no_vertex) return {};
  std::vector<vertex> result{at};
  while (at != target) {
    for (vertex next = 0; next < n; ++next) {
      if (!has_edge(dependencies, at, next) || distance[next] == no_vertex || distance[next] + 1 != distance[at])
        continue;
      at = next;
      break;
    }
    result.push_back(at);
  }
  return result;
}

TEST(ReferenceChain, AgreesWithTheNaiveOne) {
  const unsigned seed = 1999;
  std::mt19937 random{seed};
  std::size_t found = 0;
  for (int round = 0; round < 400; ++round) {
    const graph g = random_graph(random, 1 + random() % 24);
    std::vector<std::uint8_t> marks(g.vertex_count());
    for (auto& m : marks) m = random() % 4 == 0 ? unused : random() % 5 == 0 ? asked : plain;
    const vertex target = random() % g.vertex_count();
    const std::vector<vertex> expected = naive_chain(g, marks, target);
    EXPECT_EQ(reference_chain(transpose(g), marks, target), expected) << "seed " << seed << ", round " << round;
    found += !expected.empty();
  }
  EXPECT_GT(found, 100u) << "the graphs are too empty to tell anything";
}

}  // namespace
}  // namespace package_rank
