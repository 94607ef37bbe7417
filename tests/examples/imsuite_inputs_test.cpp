// The inputs are what they claim, the references are right by the validators, and the validators refuse what is wrong.
#include "network.h"
#include "reference.h"
#include "validate.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

namespace imsuite {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t at(std::int64_t v) noexcept { return static_cast<std::size_t>(v); }

bool is_connected(const network& net) {
  std::vector<vertex> found{0};
  std::set<vertex> known{0};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const link& l : net.links[at(found[i])])
      if (known.insert(l.to).second) found.push_back(l.to);
  return known.size() == net.links.size();
}

constexpr form all_forms[] = {form::ring, form::tree, form::spmax, form::rn, form::complete};

TEST(imsuite_networks, are_connected_symmetric_and_without_loops) {
  for (const form s : all_forms) {
    for (const vertex n : {1, 2, 3, 5, 16, 64, 100}) {
      for (const std::uint64_t seed : {1u, 2u, 99u}) {
        const network net = make_network(s, n, weights::random, seed);
        ASSERT_EQ(net.size(), n);
        EXPECT_TRUE(is_connected(net)) << name_of(s) << " " << n << " seed " << seed;
        for (vertex v = 0; v < n; ++v) {
          EXPECT_EQ(net.find(v, v), nullptr);
          EXPECT_TRUE(std::is_sorted(net.links[at(v)].begin(), net.links[at(v)].end(),
                                     [](const link& a, const link& b) { return a.to < b.to; }));
          for (const link& l : net.links[at(v)]) {
            ASSERT_NE(net.find(l.to, v), nullptr);
            EXPECT_EQ(net.find(l.to, v)->weight, l.weight);
            EXPECT_GE(l.weight, 1);
            EXPECT_LE(l.weight, std::int64_t{n} * n);
          }
        }
      }
    }
  }
}

TEST(imsuite_networks, have_the_sizes_of_their_forms) {
  EXPECT_EQ(make_network(form::ring, 64, weights::equal, 1).link_count(), 64u);
  EXPECT_EQ(make_network(form::tree, 64, weights::equal, 1).link_count(), 63u);
  EXPECT_EQ(make_network(form::spmax, 64, weights::equal, 1).link_count(), 64u * 6);
  EXPECT_EQ(make_network(form::complete, 64, weights::equal, 1).link_count(), 64u * 63 / 2);
  const std::size_t dense = make_network(form::rn, 64, weights::equal, 1).link_count();
  EXPECT_GT(dense, 64u * 63 / 4 - 150);
  EXPECT_LT(dense, 64u * 63 / 4 + 250);
}

TEST(imsuite_networks, are_functions_of_their_seed) {
  for (const form s : {form::tree, form::spmax, form::rn}) {
    EXPECT_EQ(make_network(s, 32, weights::random, 5).links, make_network(s, 32, weights::random, 5).links);
    EXPECT_NE(make_network(s, 32, weights::random, 5).links, make_network(s, 32, weights::random, 6).links);
  }
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 3, 2));
}

TEST(imsuite_networks, trees_have_one_root_and_parents_that_are_links) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const network net = make_network(form::tree, 40, weights::equal, seed);
    EXPECT_EQ(std::count(net.parents.begin(), net.parents.end(), no_vertex), 1);
    EXPECT_EQ(net.parents[0], no_vertex);
    for (vertex v = 1; v < 40; ++v) EXPECT_NE(net.find(v, net.parents[at(v)]), nullptr);
  }
}

TEST(imsuite_problems, hold_distinct_identities_and_few_traitors) {
  for (const vertex n : {1, 3, 4, 16, 31}) {
    const problem p = make_problem(kernel::byzantine, form::complete, n, 7);
    EXPECT_EQ(std::set<vertex>(p.identities.begin(), p.identities.end()).size(), at(n));
    const int traitors = std::accumulate(p.is_traitor.begin(), p.is_traitor.end(), 0);
    EXPECT_EQ(traitors, (n - 1) / 3);
  }
  // In a ring, traitors in two places would part the others.
  const problem ring = make_problem(kernel::byzantine, form::ring, 16, 7);
  int changes = 0;
  for (vertex v = 0; v < 16; ++v) changes += ring.is_traitor[at(v)] != ring.is_traitor[at((v + 1) % 16)];
  EXPECT_EQ(changes, 2);
  EXPECT_THROW((void)make_problem(kernel::leader_elect_hs, form::tree, 8, 1), situ::error);
  EXPECT_THROW((void)make_problem(kernel::mis, form::rn, 0, 1), situ::error);
}

class imsuite_kernel : public testing::TestWithParam<kernel> {};

TEST_P(imsuite_kernel, reference_is_right_by_the_definition) {
  for (const form s : facts_of(GetParam()).inputs)
    for (const vertex n : {1, 2, 3, 8, 33})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const problem p = make_problem(GetParam(), s, n, seed);
        EXPECT_THAT(validate(p, reference(p)), IsEmpty()) << name_of(s) << " " << n << " seed " << seed;
      }
}

// Where there is one answer, any other number at any node is refused; missing nodes always are.
TEST_P(imsuite_kernel, a_changed_answer_is_refused) {
  const kernel_facts& facts = facts_of(GetParam());
  const problem p = make_problem(GetParam(), facts.input, 12, 3);
  const answer right = reference(p);
  ASSERT_THAT(validate(p, right), IsEmpty());
  answer shorter = right;
  shorter.pop_back();
  EXPECT_THAT(validate(p, shorter), HasSubstr("rows"));
  for (std::size_t v = 0; v < right.size(); ++v) {
    if (GetParam() == kernel::byzantine && p.is_traitor[v] != 0) continue;
    answer wrong = right;
    if (wrong[v].empty()) wrong[v].push_back(0);
    wrong[v][0] = 1000;
    EXPECT_THAT(validate(p, wrong), Not(IsEmpty())) << "node " << v;
    wrong = right;
    wrong[v].push_back(0);
    EXPECT_THAT(validate(p, wrong), Not(IsEmpty())) << "node " << v;
  }
}

INSTANTIATE_TEST_SUITE_P(, imsuite_kernel, testing::ValuesIn([] {
                           std::vector<kernel> all;
                           for (const kernel_facts& f : all_kernels()) all.push_back(f.which);
                           return all;
                         }()),
                         [](const auto& info) { return std::string{facts_of(info.param).name}; });

// Each validator against the mistakes that its kernel could make.

// A path 0 - 1 - 2 - 3 and a link 0 - 3: a ring of four.
problem small(kernel k, form s = form::ring, vertex n = 4) { return make_problem(k, s, n, 1); }

TEST(imsuite_validate, search) {
  const problem p = small(kernel::bfs_dijkstra);
  EXPECT_THAT(validate(p, {{0, -1}, {1, 0}, {2, 1}, {1, 0}}), IsEmpty());
  EXPECT_THAT(validate(p, {{0, -1}, {1, 0}, {2, 3}, {1, 0}}), IsEmpty());
  EXPECT_THAT(validate(p, {{0, -1}, {1, 0}, {2, 1}, {3, 2}}), HasSubstr("at distances")) << "a longer way";
  EXPECT_THAT(validate(p, {{0, -1}, {1, 0}, {2, 0}, {1, 0}}), HasSubstr("no neighbour"));
  EXPECT_THAT(validate(p, {{0, -1}, {1, 0}, {1, 1}, {1, 0}}), HasSubstr("its parent")) << "too near";
  EXPECT_THAT(validate(p, {{1, -1}, {1, 0}, {2, 1}, {1, 0}}), HasSubstr("the root"));
}

TEST(imsuite_validate, agreement) {
  problem p = small(kernel::byzantine, form::complete, 4);
  p.is_traitor = {0, 0, 1, 0};
  p.proposals = {1, 1, 0, 1};
  EXPECT_THAT(validate(p, {{1}, {1}, {0}, {1}}), IsEmpty()) << "a traitor decides what it will";
  EXPECT_THAT(validate(p, {{0}, {0}, {0}, {0}}), HasSubstr("all loyal generals proposed 1"));
  EXPECT_THAT(validate(p, {{1}, {0}, {0}, {1}}), HasSubstr("others"));
  EXPECT_THAT(validate(p, {{7}, {7}, {0}, {7}}), HasSubstr("decides 7"));
  p.proposals = {1, 0, 0, 1};
  EXPECT_THAT(validate(p, {{0}, {0}, {0}, {0}}), IsEmpty());
  p.is_traitor = {0, 1, 1, 0};
  EXPECT_THAT(validate(p, {{0}, {0}, {0}, {0}}), HasSubstr("no agreement is promised"));
}

TEST(imsuite_validate, routes) {
  const problem p = small(kernel::dijkstra_routing, form::ring, 3);
  const answer right = reference(p);
  answer wrong = right;
  wrong[0][2] = 2;  // to 1
  EXPECT_THAT(validate(p, wrong), HasSubstr("from 0 to 1"));
  wrong = right;
  wrong[0] = {0, -1, 2, 2, 1, 2};  // to 1 by way of 2
  EXPECT_THAT(validate(p, wrong), HasSubstr("it is only 1"));
  wrong = right;
  wrong[1][5] = 1;  // to 2 by way of itself
  EXPECT_THAT(validate(p, wrong), HasSubstr("no neighbour"));
}

TEST(imsuite_validate, sets) {
  const problem d = small(kernel::dominating_set, form::ring, 6);
  EXPECT_THAT(validate(d, {{1}, {0}, {0}, {1}, {0}, {0}}), IsEmpty());
  EXPECT_THAT(validate(d, {{1}, {0}, {0}, {0}, {0}, {0}}), HasSubstr("none of its neighbours"));
  EXPECT_THAT(validate(d, {{1}, {1}, {1}, {1}, {1}, {1}}), HasSubstr("at most 4"));
  const problem i = small(kernel::mis, form::ring, 6);
  EXPECT_THAT(validate(i, {{1}, {0}, {1}, {0}, {1}, {0}}), IsEmpty());
  EXPECT_THAT(validate(i, {{1}, {0}, {0}, {1}, {0}, {0}}), IsEmpty());
  EXPECT_THAT(validate(i, {{1}, {1}, {0}, {1}, {0}, {0}}), HasSubstr("both members"));
  EXPECT_THAT(validate(i, {{1}, {0}, {0}, {0}, {0}, {0}}), HasSubstr("could be a member"));
  EXPECT_THAT(validate(i, {{1}, {0}, {2}, {0}, {1}, {0}}), HasSubstr("neither 0 nor 1"));
}

TEST(imsuite_validate, committees) {
  problem p = small(kernel::kcommittee, form::ring, 6);
  p.committee_size = 2;
  EXPECT_THAT(validate(p, {{0}, {0}, {2}, {2}, {4}, {4}}), IsEmpty());
  EXPECT_THAT(validate(p, {{0}, {0}, {0}, {3}, {4}, {4}}), HasSubstr("2 are allowed"));
  EXPECT_THAT(validate(p, {{0}, {1}, {0}, {3}, {4}, {4}}), HasSubstr("2 steps"));
  EXPECT_THAT(validate(p, {{1}, {0}, {2}, {2}, {4}, {4}}), HasSubstr("leads a committee"));
  EXPECT_THAT(validate(p, {{-1}, {0}, {2}, {2}, {4}, {4}}), HasSubstr("no node"));
  p.committee_size = 6;
  EXPECT_THAT(validate(p, {{0}, {0}, {2}, {2}, {4}, {4}}), HasSubstr("one can hold all"));
}

TEST(imsuite_validate, election) {
  problem p = small(kernel::leader_elect_lcr, form::ring, 3);
  p.identities = {7, 27, 17};
  EXPECT_THAT(validate(p, {{27, 0}, {27, 1}, {27, 0}}), IsEmpty());
  EXPECT_THAT(validate(p, {{27, 0}, {27, 0}, {27, 0}}), HasSubstr("no node"));
  EXPECT_THAT(validate(p, {{27, 0}, {27, 1}, {27, 1}}), HasSubstr("both leaders"));
  EXPECT_THAT(validate(p, {{27, 0}, {27, 1}, {17, 0}}), HasSubstr("takes 17"));
  EXPECT_THAT(validate(p, {{7, 1}, {7, 0}, {7, 0}}), HasSubstr("not the highest"));
}

TEST(imsuite_validate, spanning_tree) {
  problem p = small(kernel::mst);
  for (auto& links : p.net.links)
    for (link& l : links) l.weight = 1;
  for (const auto& [a, b] : {std::pair{2, 3}, std::pair{3, 2}}) const_cast<link*>(p.net.find(a, b))->weight = 5;
  EXPECT_THAT(validate(p, {{1, 3}, {0, 2}, {1}, {0}}), IsEmpty());
  EXPECT_THAT(validate(p, {{3}, {2}, {1, 3}, {0, 2}}), HasSubstr("less than the tree's heaviest"));
  EXPECT_THAT(validate(p, {{1, 3}, {0, 2}, {1, 3}, {0, 2}}), HasSubstr("4 links"));
  EXPECT_THAT(validate(p, {{1}, {0, 2}, {1}, {}}), HasSubstr("2 links"));
  EXPECT_THAT(validate(p, {{1, 3}, {0, 2}, {1}, {}}), HasSubstr("does not"));
  EXPECT_THAT(validate(p, {{2}, {}, {0}, {}}), HasSubstr("there is not"));
  const problem q = small(kernel::mst, form::complete, 4);
  EXPECT_THAT(validate(q, {{1, 2}, {0, 2}, {0, 1}, {}}), HasSubstr("not connected"));
}

TEST(imsuite_validate, colours) {
  problem p = small(kernel::vertex_coloring, form::tree, 8);
  const answer right = reference(p);
  answer wrong = right;
  wrong[0][0] = right[at(p.net.links[0][0].to)][0];
  EXPECT_THAT(validate(p, wrong), HasSubstr("both have colour"));
  wrong = right;
  wrong[5][0] = 3;
  EXPECT_THAT(validate(p, wrong), HasSubstr("not one of three"));
}

}  // namespace
}  // namespace imsuite
