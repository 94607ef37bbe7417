// Every kernel on every layout of places, with every transfer: the answer is right by its definition, and where there
// is one right answer, it is that of the sequential reference, so it depends on neither places nor transfer nor the
// order of messages.
#include "kernels/kernels.h"
#include "network.h"
#include "reference.h"
#include "validate.h"

#include "support/places.h"

#include <gmock/gmock.h>
#include <situ/graph.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace imsuite {
namespace {

using situ::transfer;
using situ::test::layout;
using testing::IsEmpty;

constexpr transfer all_transfers[] = {transfer::automatic, transfer::message, transfer::pull, transfer::offload};
constexpr const char* transfer_names[] = {"automatic", "message", "pull", "offload"};

// At every place; checks at place 0.
void solve(const problem& p) {
  const answer a = run(p, {});
  if (situ::here() != situ::place{0}) return;
  const std::string what = std::string{facts_of(p.which).name} + " on " + std::string{name_of(p.input)} + " of " +
                           std::to_string(p.size()) + " seed " + std::to_string(p.seed);
  EXPECT_THAT(validate(p, a), IsEmpty()) << what;
  if (has_one_answer(p.which)) {
    EXPECT_EQ(a, reference(p)) << what;
  }
}

struct way {
  kernel which;
  layout where;
  transfer how;
};
void PrintTo(const way& w, std::ostream* out) {
  *out << facts_of(w.which).name << " " << situ::test::text_of(w.where) << " "
       << transfer_names[static_cast<int>(w.how)];
}
std::string name_of_way(const testing::TestParamInfo<way>& info) {
  const way& w = info.param;
  return std::string{facts_of(w.which).name} + "_" + situ::test::text_of(w.where) + "_" +
         transfer_names[static_cast<int>(w.how)];
}
std::vector<way> ways(const std::vector<layout>& layouts) {
  std::vector<way> all;
  for (const kernel_facts& f : all_kernels())
    for (const layout& where : layouts)
      for (const transfer how : all_transfers) all.push_back({f.which, where, how});
  return all;
}

class imsuite_kernels : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  void run_places(Body body) {
    const way& w = GetParam();
    const situ::launch_result result = situ::test::launch_on(w.where, [&] {
      situ::set_default_transfer(w.how);
      body(w.which);
    });
    EXPECT_TRUE(result.ok()) << result.message();
  }
};

// Fewer nodes than places, one for each, and more.
TEST_P(imsuite_kernels, small_inputs) {
  run_places([](kernel k) {
    for (const vertex n : {1, 2, 5, 10}) solve(make_problem(k, facts_of(k).input, n, static_cast<std::uint64_t>(n)));
  });
}
INSTANTIATE_TEST_SUITE_P(, imsuite_kernels, testing::ValuesIn(ways(situ::test::all_layouts())), name_of_way);

// Every input that a kernel takes, with seeds that are new in each run.
class imsuite_inputs : public situ::test::on_places {};
TEST_P(imsuite_inputs, all_forms_and_random_seeds) {
  const std::uint64_t seed = situ::test::test_seed();
  run([seed] {
    for (const kernel_facts& f : all_kernels())
      for (const form s : f.inputs) {
        problem p = make_problem(f.which, s, 3 + static_cast<vertex>(draw(seed, 1) % 10),
                                 draw(seed, static_cast<std::uint64_t>(s)));
        p.committee_size = 1 + static_cast<std::int32_t>(draw(seed, 2) % 4);
        p.root = f.which == kernel::bfs_dijkstra || f.which == kernel::bfs_bellman_ford ? p.size() / 2 : 0;
        solve(p);
      }
  });
}
// Inputs on which little mistakes show: long networks with several local winners, nodes that two committees want, lies
// that matter.
TEST_P(imsuite_inputs, telling_inputs) {
  struct telling {
    kernel which;
    form input;
    vertex nodes;
    std::int32_t committee_size;
  };
  run([] {
    for (const telling& t :
         {telling{kernel::kcommittee, form::ring, 24, 3}, telling{kernel::kcommittee, form::tree, 20, 4},
          telling{kernel::leader_elect_dp, form::ring, 24, 6}, telling{kernel::leader_elect_dp, form::tree, 24, 6},
          telling{kernel::byzantine, form::complete, 10, 6}, telling{kernel::mst, form::ring, 20, 6},
          telling{kernel::dominating_set, form::tree, 20, 6}})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        problem p = make_problem(t.which, t.input, t.nodes, seed);
        p.committee_size = t.committee_size;
        solve(p);
      }
  });
}
INSTANTIATE_TEST_SUITE_P(, imsuite_inputs, testing::ValuesIn(situ::test::layouts({1, 3})), situ::test::layout_name);

// The paper's sizes; half of them where a sanitizer makes each message ten times as slow.
class imsuite_full_size : public imsuite_kernels {};
TEST_P(imsuite_full_size, paper_inputs) {
  run_places([](kernel k) {
    solve(make_problem(k, facts_of(k).input, facts_of(k).nodes / (situ::test::with_sanitizer ? 2 : 1), 1));
  });
}
INSTANTIATE_TEST_SUITE_P(, imsuite_full_size, testing::ValuesIn(ways(situ::test::layouts({4}))), name_of_way);

}  // namespace
}  // namespace imsuite
