// Place trees: their shapes, how rows are dealt, and that one program gives the same bits on every tree and under every
// policy: of one child, of a machine's memories, of places that are processes or threads.
#include <situ/trees/place_tree.h>

#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/toml.h>
#include <situ/spread/shares.h>
#include <situ/trees/cache_tile.h>
#include <situ/trees/child_copies.h>
#include <situ/trees/placed_array.h>

#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/build_paths.h"
#include "support/float_modes.h"

namespace situ {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Three memories of unequal bandwidth, with one, two and three cores.
const char* const uneven = R"(
name = "uneven"
[[node]]
id = "package"
kind = "package"
count = 3
[[node]]
id = "ddr"
in = "package"
kind = "memory"
size = "1 GiB"
[[node]]
id = "l2"
in = "package"
kind = "cache"
level = 2
count = [1, 2, 3]
size = "512 KiB"
[[node]]
id = "l1"
in = "l2"
kind = "cache"
level = 1
cache = "data"
size = "32 KiB"
[[node]]
id = "core"
in = "l1"
kind = "core"
[[path]]
from = "package[0]"
to = "ddr[0]"
bandwidth = "10 GB/s"
[[path]]
from = "package[1]"
to = "ddr[1]"
bandwidth = "20 GB/s"
[[path]]
from = "package[2]"
to = "ddr[2]"
bandwidth = "70 GB/s"
)";

place_tree uneven_tree() { return place_tree::of_machine(machine::parse_toml(uneven, "uneven.toml"), {.threads = 2}); }

std::vector<deal> every_deal(std::size_t children) {
  std::vector<double> weights;
  for (std::size_t c = 0; c < children; ++c) weights.push_back(1.0 + static_cast<double>(c));
  return {deal::block(), deal::cyclic(),    deal::blocks_of(3), deal::weighted(weights),
          deal::model(), deal::automatic(), deal::dynamic(5)};
}

TEST(shares, are_as_near_to_the_weights_as_whole_places_allow) {
  const shares s{10, std::array{1.0, 3.0}};
  EXPECT_EQ(s.count(0), 3u) << "2.5: of equal remainders the first is rounded up";
  EXPECT_EQ(s.count(1), 7u);
  EXPECT_EQ(s.member_of(2), 0u);
  EXPECT_EQ(s.member_of(3), 1u);
  EXPECT_EQ(s.member_of(9), 1u);
  const shares none{4, std::array{0.0, 1.0, 0.0, 1.0}};
  EXPECT_EQ(none.count(0) + none.count(2), 0u);
  EXPECT_EQ(none.member_of(0), 1u);
  EXPECT_EQ(none.member_of(2), 3u);
  for (const std::uint32_t places : {0u, 1u, 7u, 1000u}) {
    const shares thirds{places, std::array{1.0, 1.0, 1.0}};
    EXPECT_EQ(thirds.count(0) + thirds.count(1) + thirds.count(2), places);
    for (std::uint32_t p = 0; p < places; ++p) {
      const std::uint32_t m = thirds.member_of(p);
      EXPECT_TRUE(p >= thirds.first(m) && p < thirds.first(m) + thirds.count(m));
    }
  }
  EXPECT_THROW(shares(3, std::array{0.0}), error);
  EXPECT_THROW(shares(3, std::array{-1.0, 2.0}), error);
  EXPECT_THROW(shares(3, std::span<const double>{}), error);
}

TEST(place_tree, shows_memories_workers_and_caches_of_a_machine) {
  const place_tree tree = uneven_tree();
  EXPECT_EQ(tree.root().to_text(),
            "uneven 3 GiB, 6 workers\n"
            "├─ dram 0 1 GiB 10 GB/s, 1 worker\n"
            "│  └─ L2 0 512 KiB\n"
            "├─ dram 1 1 GiB 20 GB/s, 2 workers\n"
            "│  ├─ L2 1 512 KiB\n"
            "│  └─ L2 2 512 KiB\n"
            "└─ dram 2 1 GiB 70 GB/s, 3 workers\n"
            "   ├─ L2 3 512 KiB\n"
            "   ├─ L2 4 512 KiB\n"
            "   └─ L2 5 512 KiB\n");
  EXPECT_EQ(tree.root().levels(), 3u);
}

// As the kernel says. Where it does not: one memory.
std::size_t nodes_with_memory() {
  std::ifstream file{"/sys/devices/system/node/has_memory"};
  std::size_t nodes = 0;
  for (std::string range; std::getline(file, range, ',');) {  // 0-1,3
    const std::size_t dash = range.find('-');
    nodes += dash == std::string::npos ? 1 : std::stoul(range.substr(dash + 1)) - std::stoul(range) + 1;
  }
  return std::max<std::size_t>(1, nodes);
}

TEST(place_tree, has_a_child_for_each_memory_that_programs_allocate_from) {
  const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";
  const auto children = [&](const char* file) {
    std::vector<std::string> names;
    for (const tree_node& child : shape_of(machine::read_toml(machines + file)).children) names.push_back(child.name);
    return names;
  };
  EXPECT_THAT(children("opteron-6172-2-tesla.toml"), ElementsAre("dram 0", "dram 1", "dram 2", "dram 3"));
  EXPECT_THAT(children("grace-hopper-gh200.toml"), ElementsAre("dram 0")) << "a device's own memory is none";
  EXPECT_THAT(children("xeon-max-9480-flat.toml"), ElementsAre("dram 0", "hbm 1", "dram 2", "hbm 3"));
  const place_tree here = place_tree::of_memories({.threads = 1});
  EXPECT_THAT(here.children(), SizeIs(nodes_with_memory()));
}

TEST(place_tree, deals_rows_by_every_policy) {
  const place_tree tree = uneven_tree();
  const auto owners = [&](const deal& how, std::size_t rows = 10) {
    const placed_rows dealt = tree.distribute(rows, how);
    std::string text;
    for (std::size_t i = 0; i < rows; ++i) text += std::to_string(dealt.child_of(i));
    return text;
  };
  EXPECT_EQ(owners(deal::block()), "0000111122");
  EXPECT_EQ(owners(deal::cyclic()), "0120120120");
  EXPECT_EQ(owners(deal::blocks_of(2)), "0011220011");
  EXPECT_EQ(owners(deal::weighted({2, 3, 5})), "0011122222");
  EXPECT_EQ(owners(deal::model()), "0112222222") << "by bandwidth";
  EXPECT_EQ(owners(deal::automatic()), "0000111122") << "as block at first";
  EXPECT_EQ(owners(deal::dynamic(3)), "0000001112") << "four runs; the data lie in blocks of them";
  EXPECT_EQ(owners(deal::weighted({0, 0, 1})), "2222222222");
  EXPECT_EQ(tree.distribute(10, deal::dynamic(3)).runs().size(), 4u);
  EXPECT_TRUE(tree.distribute(0, deal::cyclic()).runs().empty());
  EXPECT_EQ(owners(deal::block(), 2), "01");
  EXPECT_THAT(tree.distribute(10000, deal::model()).counts(), ElementsAre(1000, 2000, 7000));
  EXPECT_THROW((void)tree.distribute(10, deal::weighted({1, 2})), error);
}

// Some steps of a Jacobi iteration whose rows are [0, n); the outermost rows and columns stay.
std::vector<double> plain_jacobi(std::size_t n, std::size_t m, int steps) {
  std::vector<double> u(n * m), v;
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i * 7919 % 1000) / 1000;
  for (int s = 0; s < steps; ++s) {
    v = u;
    for (std::size_t i = 1; i + 1 < n; ++i)
      for (std::size_t j = 1; j + 1 < m; ++j)
        v[i * m + j] = 0.25 * (u[(i - 1) * m + j] + u[(i + 1) * m + j] + u[i * m + j - 1] + u[i * m + j + 1]);
    std::swap(u, v);
  }
  return u;
}

// The same over a tree. The parent's memory is the job's where there is a job.
std::vector<double> tree_jacobi(place_tree& tree, const deal& how, std::size_t n, std::size_t m, int steps,
                                double* parent) {
  for (std::size_t i = 0; i < n * m; ++i) parent[i] = static_cast<double>(i * 7919 % 1000) / 1000;
  const placed_rows rows = tree.distribute(n, how);
  placed_array<double> u{rows, m, 1}, v{rows, m, 1};
  u.move_down(parent);
  for (int s = 0; s < steps; ++s) {
    u.copy_ghosts();
    tree.for_each(
        rows,
        [n](const tree_part& part, rows_view<const double> from, rows_view<double> to) {
          for (std::ptrdiff_t i = part.begin; i < part.end; ++i)
            for (std::size_t j = 0; j < to.columns; ++j) {
              const bool edge = i == 0 || i + 1 == static_cast<std::ptrdiff_t>(n) || j == 0 || j + 1 == to.columns;
              to(i, j) = edge ? from(i, j) : 0.25 * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1));
            }
        },
        reads(u), writes(v));
    std::swap(u, v);
  }
  u.move_up(parent);
  tree.wait();
  return {parent, parent + n * m};
}

TEST(place_tree, every_policy_gives_the_same_bits_on_memories) {
  const std::vector<double> expected = plain_jacobi(37, 11, 6);
  std::vector<double> parent(37 * 11);
  for (const deal& how : every_deal(3)) {
    place_tree tree = uneven_tree();
    EXPECT_EQ(tree_jacobi(tree, how, 37, 11, 6, parent.data()), expected) << how.to_text();
    EXPECT_EQ(tree.traffic().down, 37 * 11 * 8u);
    EXPECT_EQ(tree.traffic().up, 37 * 11 * 8u);
  }
  place_tree here = place_tree::of_memories({.threads = 2});  // on most machines: a tree of one
  for (const deal& how : every_deal(here.children().size()))
    EXPECT_EQ(tree_jacobi(here, how, 37, 11, 6, parent.data()), expected) << how.to_text();
}

// So many runs of rows that units take several.
TEST(place_tree, every_policy_gives_the_same_bits_in_fine_runs) {
  std::vector<double> parent(260 * 5);
  const std::vector<double> expected = plain_jacobi(260, 5, 5);
  for (const deal& how : every_deal(3)) {
    place_tree tree = uneven_tree();
    EXPECT_EQ(tree_jacobi(tree, how, 260, 5, 5, parent.data()), expected) << how.to_text();
  }
}

// SITU_ORDERINGS names orderings.toml: two memories, each 16 MiB of node 0.
TEST(place_tree, children_are_memories_with_budgets) {
  const std::array intents{intent{"left"}, intent{"right"}};
  place_tree tree = place_tree::of_intents(intents, {.threads = 2});
  ASSERT_EQ(tree.children().size(), 2u);
  EXPECT_EQ(tree.children()[1].name, "right");
  std::vector<double> parent(37 * 11);
  for (const deal& how : every_deal(2))
    EXPECT_EQ(tree_jacobi(tree, how, 37, 11, 6, parent.data()), plain_jacobi(37, 11, 6)) << how.to_text();
  const placed_rows half = tree.distribute(std::size_t{24} << 10, deal::block());  // 24 MiB in two parts
  const placed_array<char> fits{half, 1024};
  const placed_rows most = tree.distribute(std::size_t{24} << 10, deal::weighted({1, 0}));
  EXPECT_THROW((placed_array<char>{most, 1024}), error) << "24 MiB in one part";
  EXPECT_EQ(tree_jacobi(tree, deal::block(), 37, 11, 6, parent.data()), plain_jacobi(37, 11, 6));
}

TEST(place_tree, counts_what_moves_across_and_nothing_within_a_child) {
  const auto across = [](place_tree tree, const deal& how) {
    const placed_rows rows = tree.distribute(9, how);
    placed_array<int> a{rows, 4, 1};
    a.copy_ghosts();
    tree.wait();
    return tree.traffic().across;
  };
  constexpr std::size_t row = 4 * sizeof(int);
  EXPECT_EQ(across(uneven_tree(), deal::block()), 4 * row) << "two sides of two borders";
  EXPECT_EQ(across(uneven_tree(), deal::cyclic()), 16 * row);
  const machine::tree one = machine::parse_toml(
      "name = \"one\"\n[[node]]\nid = \"m\"\nkind = \"memory\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n", "one.toml");
  EXPECT_EQ(across(place_tree::of_machine(one, {.threads = 1}), deal::cyclic()), 0u);
}

TEST(place_tree, rows_follow_the_measured_speed) {
  place_tree tree = uneven_tree();
  const placed_rows rows = tree.distribute(300, deal::automatic());
  placed_array<int> a{rows, 1};
  std::vector<int> parent(300);
  for (int i = 0; i < 300; ++i) parent[static_cast<std::size_t>(i)] = i;
  a.move_down(parent.data());
  const auto slow = [](const tree_part& part, rows_view<int> view) {  // child 0 takes 40 times as long for a row
    const auto rows_here = part.end - part.begin;
    std::this_thread::sleep_for(std::chrono::microseconds{rows_here * (part.child == 0 ? 800 : 20)});
    for (std::ptrdiff_t i = part.begin; i < part.end; ++i) ++view(i, 0);
  };
  tree.for_each(rows, slow, updates(a));
  EXPECT_EQ(rows.counts()[0], 100u);
  tree.for_each(rows, slow, updates(a));
  tree.wait();
  EXPECT_GT(rows.speeds()[2], rows.speeds()[0]);
  EXPECT_LT(rows.counts()[0], 50u) << "its workers are one of six, and it is slow";
  EXPECT_GT(rows.counts()[0], 0u);
  EXPECT_GT(tree.traffic().across, 0u);
  a.move_up(parent.data());
  tree.wait();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(parent[static_cast<std::size_t>(i)], i + 2);
}

TEST(place_tree, tiles_go_down_to_every_child_and_into_caches) {
  place_tree tree = uneven_tree();
  const std::vector<double> parent{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 3 x 4
  child_copies<double> tile{tree, 2, 3};
  tile.move_down(&parent[5], 2, 3, 4);  // 6 7 8 / 10 11 12
  const placed_rows rows = tree.distribute(6, deal::block());
  placed_array<double> sums{rows, 1};
  tree.for_each(
      rows,
      [](const tree_part& part, rows_view<double> to, tile_view<const double> from) {
        cache_tile<double> near{part, 6};
        near.load(from.row(0), 2, 3, from.columns);
        for (std::ptrdiff_t i = part.begin; i < part.end; ++i)
          for (int k = 0; k < 6; ++k) to(i, 0) += near.data()[k] * static_cast<double>(i);
      },
      updates(sums), reads(tile));
  std::vector<double> result(6);
  sums.move_up(result.data());
  tree.wait();
  EXPECT_THAT(result, ElementsAre(0, 54, 108, 162, 216, 270));
  EXPECT_EQ(tree.traffic().down, 3 * 6 * sizeof(double));
  EXPECT_EQ(tree.traffic().cached, (1 + 2 + 2) * 6 * sizeof(double)) << "once for each unit";
  EXPECT_EQ(cache_tile<double>::most_bytes({.cache_bytes = 512 << 10}), 256u << 10);
  EXPECT_THROW(tile.move_down(parent.data(), 3, 3, 4), error);
}

TEST(place_tree, what_is_not_aligned_is_refused_and_failures_reach_wait) {
  place_tree tree = uneven_tree(), other = uneven_tree();
  const placed_rows rows = tree.distribute(8), more = tree.distribute(8);
  placed_array<int> a{rows, 1};
  const auto nothing = [](const tree_part&, rows_view<const int>) {};
  const auto message = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const error& bad) {
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_THAT(message([&] { placed_array<int>(rows, 0); }), HasSubstr("rows of 0 columns"));
  EXPECT_THAT(message([&] { child_copies<int>(tree, 8, 0); }), HasSubstr("rows of 0 columns"));
  EXPECT_THAT(message([&] { tree.for_each(more, nothing, reads(a)); }), HasSubstr("make it of the same placed_rows"));
  EXPECT_THAT(message([&] { other.for_each(rows, nothing, reads(a)); }), HasSubstr("rows of another place tree"));
  child_copies<int> far{other, 1, 1};
  EXPECT_THAT(message([&] { tree.for_each(rows, [](const tree_part&, tile_view<const int>) {}, reads(far)); }),
              HasSubstr("copies at the children of another"));
  tree.for_each(rows, [](const tree_part& part) {
    if (part.begin == 3) throw std::runtime_error{"row 3"};
  });
  EXPECT_THROW(tree.wait(), std::runtime_error);
  tree.for_each(rows, nothing, reads(a));
  tree.wait();
}

TEST(place_tree, random_sizes_and_deals_keep_every_row) {
  std::mt19937 random{std::random_device{}()};
  place_tree tree = uneven_tree();
  for (int round = 0; round < test::rounds(60); ++round) {
    const std::size_t n = random() % 140, m = 1 + random() % 5, ghosts = random() % 4;
    const deal how = every_deal(3)[random() % 7];
    const placed_rows rows = tree.distribute(n, how);
    placed_array<std::uint32_t> a{rows, m, ghosts};
    std::vector<std::uint32_t> parent(n * m);
    for (std::uint32_t& each : parent) each = static_cast<std::uint32_t>(random());
    a.move_down(parent.data());
    a.copy_ghosts();
    const auto sum = [n](const tree_part& part, rows_view<const std::uint32_t> view, rows_view<std::uint32_t> to) {
      for (std::ptrdiff_t i = part.begin; i < part.end; ++i)
        for (std::size_t j = 0; j < view.columns; ++j) {
          to(i, j) = 0;
          for (std::ptrdiff_t k = view.low - part.begin; k <= 0; ++k)
            if (i + k >= 0) to(i, j) += view(i + k, j);
          for (std::ptrdiff_t k = 1; k <= part.begin - view.low; ++k)
            if (i + k < static_cast<std::ptrdiff_t>(n)) to(i, j) += view(i + k, j);
        }
    };
    placed_array<std::uint32_t> b{rows, m};
    tree.for_each(rows, sum, reads(a), writes(b));
    if (random() % 2 == 0) rows.core()->balance();
    std::vector<std::uint32_t> result(n * m);
    b.move_up(result.data());
    tree.wait();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        std::uint32_t expected = 0;
        for (std::size_t k = i < ghosts ? 0 : i - ghosts; k < std::min(n, i + ghosts + 1); ++k)
          expected += parent[k * m + j];
        ASSERT_EQ(result[i * m + j], expected) << n << " " << m << " " << ghosts << " " << how.to_text();
      }
  }
}

// The tree is made before the mode is set, and the parent's thread alone sets it.
void expect_bits_of_one_thread_in_every_mode(place_tree& tree, double* parent) {
  for (const test::float_mode& each : test::all_float_modes()) {
    const test::computing_as mode{each};
    const std::vector<double> expected = plain_jacobi(23, 9, 4);
    for (const deal& how : every_deal(static_cast<std::uint32_t>(tree.children().size())))
      EXPECT_EQ(tree_jacobi(tree, how, 23, 9, 4, parent), expected) << each << ", " << how.to_text();
  }
}

TEST(place_tree, loops_compute_with_the_floating_point_settings_of_who_adds_them) {
  place_tree tree = uneven_tree();
  std::vector<double> parent(23 * 9);
  expect_bits_of_one_thread_in_every_mode(tree, parent.data());
  const test::computing_as mode{{false, FE_UPWARD}};
  const std::vector<double> upward = plain_jacobi(23, 9, 4);
  const test::computing_as usual{{}};
  EXPECT_NE(upward, plain_jacobi(23, 9, 4));  // else nothing is compared above
}

class place_tree_on : public test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, place_tree_on, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

TEST_P(place_tree_on, every_policy_gives_the_same_bits_at_places) {
  run([] {
    if (here().index() == 0) {
      place_tree tree = place_tree::of_places();
      ASSERT_EQ(tree.children().size(), place_count());
      EXPECT_EQ(tree.children()[0].name, "place 0");
      const std::vector<double> expected = plain_jacobi(23, 9, 4);
      const ptr<double> parent = allocate<double>(23 * 9);
      for (const deal& how : every_deal(place_count()))
        EXPECT_EQ(tree_jacobi(tree, how, 23, 9, 4, parent.local()), expected) << how.to_text();
      const ptr<double> fine = allocate<double>(150 * 3);
      EXPECT_EQ(tree_jacobi(tree, deal::cyclic(), 150, 3, 4, fine.local()), plain_jacobi(150, 3, 4));
      deallocate(fine);
      expect_bits_of_one_thread_in_every_mode(tree, parent.local());
      deallocate(parent);
    }
    barrier();
  });
}

TEST_P(place_tree_on, rows_lie_and_bodies_run_at_the_child) {
  run([] {
    if (here().index() == 0) {
      place_tree tree = place_tree::of_places();
      for (const deal& how : {deal::block(), deal::cyclic(), deal::blocks_of(2)}) {
        const placed_rows rows = tree.distribute(4 * place_count(), how);
        placed_array<std::uint32_t> a{rows, 2, 1};
        for (std::size_t c = 0; c < rows.runs().size(); ++c)
          EXPECT_EQ(ptr<std::byte>{a.slabs().row(c, rows.runs()[c].begin)}.place().index(), rows.runs()[c].child);
        tree.for_each(
            rows,
            [](const tree_part& part, rows_view<std::uint32_t> view) {
              for (std::ptrdiff_t i = part.begin; i < part.end; ++i) {
                view(i, 0) = here().index();
                view(i, 1) = part.child;
              }
            },
            writes(a));
        const ptr<std::uint32_t> result = allocate<std::uint32_t>(rows.size() * 2);
        a.move_up(result);
        tree.wait();
        for (std::size_t i = 0; i < rows.size(); ++i) {
          EXPECT_EQ(result.local()[2 * i], rows.child_of(i));
          EXPECT_EQ(result.local()[2 * i + 1], rows.child_of(i));
        }
        deallocate(result);
      }
    }
    barrier();
  });
}

// Rows of neighbours come first, then the others are asked for their parts, then the place of the tree begins its own,
// which holds its thread until it ends. Here each part waits until all have begun it, without handling messages.
TEST_P(place_tree_on, parts_of_a_loop_run_at_the_same_time) {
  if (test::is_modelled || test::where_places_are() != test::whereabouts::one_host)
    GTEST_SKIP() << "parts share a word";
  run([] {
    using clock = std::chrono::steady_clock;
    if (here().index() == 0) {
      constexpr int sweeps = 20;
      place_tree tree = place_tree::of_places();
      const placed_rows rows = tree.distribute(2 * place_count());
      placed_array<int> from{rows, 16, 1}, to{rows, 16, 1};
      const ptr<int> begun = allocate<int>(sweeps + 1);  // parts of each sweep; then those that waited in vain
      std::fill_n(begun.local(), sweeps + 1, 0);
      for (int i = 0; i < sweeps; ++i) {
        from.copy_ghosts();
        tree.for_each(
            rows,
            [begun, i, all = static_cast<int>(place_count())](const tree_part&, rows_view<const int>, rows_view<int>) {
              std::atomic_ref<int> of_this{begun.local()[i]};
              ++of_this;
              const auto ends = clock::now() + std::chrono::seconds{5};
              while (of_this < all && clock::now() < ends) std::this_thread::yield();
              if (of_this < all) ++std::atomic_ref<int>{begun.local()[sweeps]};
            },
            reads(from), writes(to));
        std::swap(from, to);
      }
      tree.wait();
      EXPECT_EQ(begun.local()[sweeps], 0);
      deallocate(begun);
    }
    barrier();
  });
}

TEST_P(place_tree_on, failures_reach_wait_and_parents_lie_in_the_job) {
  run([] {
    if (here().index() == 0) {
      place_tree tree = place_tree::of_places();
      const placed_rows rows = tree.distribute(8, deal::block()), free = tree.distribute(8, deal::dynamic(1));
      const auto fail = [](const tree_part& part) {
        if (part.begin == 0) throw std::runtime_error{"the first"};
      };
      tree.for_each(rows, fail);
      EXPECT_THROW(tree.wait(), std::exception);
      EXPECT_THROW(tree.for_each(free, fail), std::exception);
      placed_array<int> a{rows, 1};
      std::vector<int> outside(8);
      EXPECT_THROW(a.move_down(outside.data()), error);
      tree.wait();
    }
    barrier();
  });
}

}  // namespace
}  // namespace situ
