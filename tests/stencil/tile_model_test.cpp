// The model that chooses tiles, on machines of which every figure is made up. No loop runs: the datasets have no
// memory.
#include "stencil/tile_model.h"

#include <situ/stencil/stencil.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace situ::stencil;
using situ::machine::reuse_cost;
using situ::machine::reuse_curve;

constexpr double MiB = 1 << 20;

// Bytes cost nothing up to so many, and then 1 ns to read and 2 ns to write.
tile_costs cliff(double bytes) {
  return {.reuse = reuse_curve{{{bytes * 0.999, 0, 0, 0}, {bytes, 1, 2, 0}}},
          .own_bytes = bytes,
          .share_bytes = 0,
          .part_ns = 0,
          .plane_ns = 0,
          .line_ns = 0,
          .epoch_ns = 0,
          .handed_ns = 0};
}

// A second-level cache of 1 MiB, 16 MiB of a third, and memory; about an EPYC's.
tile_costs usual() {
  return {.reuse = reuse_curve{{{65536, 0.001, 0.002, 0},
                                {0.75 * MiB, 0.004, 0.005, 1},
                                {1.5 * MiB, 0.008, 0.008, 1},
                                {12 * MiB, 0.0115, 0.013, 1},
                                {24 * MiB, 0.015, 0.018, 1},
                                {64 * MiB, 0.03, 0.033, 1}},
                               0.015},
          .own_bytes = MiB,
          .share_bytes = 16 * MiB};
}

template <int D>
struct programs {
  context c{{.threads = 1}};
  block<D> space{c, "space"};
  box all{{}, {}};
  std::vector<std::unique_ptr<loop>> loops;
  std::vector<dataset<double, D>> data;

  programs(const std::array<int, D>& extents, int datasets, int ghosts) {
    dataset_layout l;
    all.high = {1, 1, 1, 1, 1};
    l.inner.high = {1, 1, 1, 1, 1};
    for (int d = 0; d < D; ++d) {
      all.high[d] = l.inner.high[d] = extents[d];
      l.below[d] = l.above[d] = ghosts;
    }
    l.memory = this;  // never touched
    for (int i = 0; i < datasets; ++i) data.emplace_back(space, "d" + std::to_string(i), l);
  }
  void add(int from, const shape& where, int to) {
    const auto kernel = [](auto, auto) {};
    using parameter = detail::dataset_parameter<double, D>;
    loops.push_back(std::make_unique<detail::kernel_loop<std::remove_const_t<decltype(kernel)>, parameter, parameter>>(
        "loop", D, all, kernel, parameter{data[static_cast<std::size_t>(from)].core(), where, access_mode::read},
        parameter{data[static_cast<std::size_t>(to)].core(), shape::point(D), access_mode::write}));
  }
  void add_sweeps(int count) {
    for (int i = 0; i < count; ++i) add(i % 2, shape::star(D, 1), 1 - i % 2);
  }
};

TEST(tile_model, bytes_cost_what_lies_between_two_touches) {
  programs<1> p{{1 << 20}, 3, 0};  // three times 8 MiB
  p.add(0, shape::point(1), 1);
  p.add(1, shape::point(1), 2);
  tile_model m{p.loops, cliff(4 * MiB), 1, 2048};
  const double bytes = 8 * MiB * 1e-9;
  // Untiled: a read, b written, b read again after 16 MiB, c written.
  EXPECT_NEAR(m.predict({}).seconds, bytes * (1 + 2 + 1 + 2), 1e-6);
  // In tiles of 64 Ki points b is still there: 3 x 512 KiB.
  const auto tiled = m.predict({1 << 16});
  EXPECT_NEAR(tiled.seconds, bytes * (1 + 2 + 2), 1e-6);
  EXPECT_EQ(tiled.footprint_bytes, 1.5 * MiB);
  EXPECT_FALSE(tiled.in_rows);
}

TEST(tile_model, what_is_read_first_and_written_later_goes_back) {
  programs<1> p{{1 << 20}, 2, 0};
  p.add(0, shape::point(1), 1);
  p.add(1, shape::point(1), 0);
  tile_model m{p.loops, cliff(4 * MiB), 1, 2048};
  // a read, b written; a is written while it is near, but goes back to memory: 2 - 1.
  EXPECT_NEAR(m.predict({1 << 16}).seconds, 8 * MiB * 1e-9 * (1 + 2 + 1), 1e-6);
}

TEST(tile_model, a_stencil_reads_planes_again_that_are_far_apart) {
  programs<3> p{{512, 512, 64}, 2, 1};
  p.add(0, shape::star(3, 1), 1);
  const double bytes = 512.0 * 512 * 64 * 8 * 1e-9;
  // A plane of both datasets has 4 MiB: seven points lie in five lines; the plane's first line comes from memory, and
  // so do the two that come a plane later.
  const double ghosts = (514.0 * 514 * 66) / (512.0 * 512 * 64);
  tile_model far{p.loops, cliff(3 * MiB), 1, 2048};
  EXPECT_NEAR(far.predict({}).seconds, bytes * (ghosts + 2 * ghosts + 2), 0.01 * bytes);
  tile_model near{p.loops, cliff(5 * MiB), 1, 2048};
  EXPECT_NEAR(near.predict({}).seconds, bytes * (ghosts + 2), 0.01 * bytes);
}

TEST(tile_model, parts_planes_and_lines_cost_their_start) {
  programs<3> p{{64, 32, 16}, 2, 1};
  p.add_sweeps(1);
  auto costs = cliff(1e12);
  costs.part_ns = 1e6, costs.plane_ns = 1e4, costs.line_ns = 1;
  tile_model m{p.loops, costs, 1, 2048};
  EXPECT_NEAR(m.predict({}).seconds, 1e-3 + 16 * 1e-5 + 16 * 32 * 1e-9, 1e-9);
  EXPECT_EQ(m.predict({}).moved_seconds, 0);
  // Eight tiles of two planes.
  EXPECT_NEAR(m.predict({0, 0, 2}).seconds, 8e-3 + 16 * 1e-5 + 16 * 32 * 1e-9, 1e-9);
}

TEST(tile_model, where_nothing_is_near_or_far_nothing_is_cut) {
  programs<2> p{{4096, 4096}, 2, 1};
  p.add_sweeps(4);
  auto costs = usual();
  costs.reuse = reuse_curve{};
  tile_model m{p.loops, costs, 1, 2048};
  EXPECT_EQ(m.rank().front().tile, coordinates{});
}

TEST(tile_model, the_chosen_tile_fits_into_the_cache) {
  for (const int threads : {1, 2, 8}) {
    programs<2> p{{4096, 4096}, 2, 1};
    p.add_sweeps(10);
    tile_model m{p.loops, usual(), threads, 2048};
    const auto best = m.rank().front();
    EXPECT_LE(best.expected.footprint_bytes, threads == 1 ? 16 * MiB : MiB) << threads;
    EXPECT_LT(best.expected.seconds, 0.7 * m.predict({}).seconds) << threads;
  }
}

TEST(tile_model, in_three_dimensions_lines_stay_whole) {
  programs<3> p{{384, 384, 384}, 2, 1};
  p.add_sweeps(10);
  tile_model m{p.loops, usual(), 2, 2048};
  const auto best = m.rank().front();
  EXPECT_EQ(best.tile[0], 0);
  EXPECT_GT(best.tile[1], 0);
  EXPECT_GT(best.tile[2], 0);
  EXPECT_LE(best.expected.footprint_bytes, 8 * MiB);
  EXPECT_TRUE(best.expected.in_rows);
}

TEST(tile_model, a_slower_memory_never_makes_a_chain_faster) {
  programs<3> p{{192, 192, 192}, 2, 1};
  p.add_sweeps(6);
  auto slow = usual();
  std::vector<reuse_cost> points = slow.reuse.points();
  for (auto& point : points) point.read_ns *= 2, point.write_ns *= 2;
  slow.reuse = reuse_curve{points, 0.03};
  tile_model a{p.loops, usual(), 2, 2048}, b{p.loops, slow, 2, 2048};
  for (const auto& r : a.rank()) EXPECT_LE(r.expected.seconds, b.predict(r.tile).seconds);
}

TEST(tile_model, twice_the_points_take_twice_as_long) {
  programs<2> once{{4096, 2048}, 2, 1}, twice{{4096, 4096}, 2, 1};
  once.add_sweeps(6), twice.add_sweeps(6);
  tile_model a{once.loops, usual(), 2, 2048}, b{twice.loops, usual(), 2, 2048};
  for (const auto& tile : {coordinates{}, coordinates{0, 32}, coordinates{512, 32}})
    EXPECT_NEAR(b.predict(tile).seconds / a.predict(tile).seconds, 2, 0.1) << tile[0] << "," << tile[1];
}

TEST(tile_model, threads_share_what_they_can) {
  programs<2> p{{4096, 4096}, 2, 1};
  p.add_sweeps(6);
  tile_model one{p.loops, usual(), 1, 2048}, two{p.loops, usual(), 2, 2048};
  for (const auto& tile : {coordinates{}, coordinates{0, 64}, coordinates{512, 32}}) {
    const double speedup = one.predict(tile).seconds / two.predict(tile).seconds;
    EXPECT_GT(speedup, 1.2) << tile[0] << "," << tile[1];
    EXPECT_LT(speedup, 2.5) << tile[0] << "," << tile[1];
  }
  EXPECT_FALSE(two.predict({0, 64}).in_rows);
  EXPECT_TRUE(two.predict({512, 32}).in_rows);
}

TEST(tile_model, small_and_flat_spaces_have_a_ranking) {
  const auto check = [](auto& p) {
    p.add_sweeps(3);
    for (const int threads : {1, 3}) {
      tile_model m{p.loops, usual(), threads, 0};
      const auto ranking = m.rank();
      EXPECT_TRUE(std::any_of(ranking.begin(), ranking.end(), [](const auto& r) { return r.tile == coordinates{}; }));
      for (const auto& r : ranking) EXPECT_TRUE(std::isfinite(r.expected.seconds) && r.expected.seconds > 0);
    }
  };
  programs<1> point{{1}, 2, 1}, line{{100000000}, 2, 1};
  programs<2> column{{1, 100000}, 2, 1};
  programs<3> plane{{1000, 1, 1000}, 2, 1};
  programs<5> five{{20, 20, 20, 20, 20}, 2, 1};
  check(point), check(line), check(column), check(plane), check(five);
}

TEST(tile_model, trials_are_for_what_is_close_and_different) {
  const auto ranked = [](coordinates tile, double seconds) { return ranked_tile{tile, {.seconds = seconds}}; };
  const std::vector<ranked_tile> ranking{ranked({256, 32}, 1.0), ranked({384, 32}, 1.01), ranked({512, 16}, 1.02),
                                         ranked({0, 32}, 1.1),   ranked({0, 64}, 1.2),    ranked({}, 1.4)};
  const auto tiles = [](const std::vector<ranked_tile>& all) {
    std::vector<coordinates> t;
    for (const auto& r : all) t.push_back(r.tile);
    return t;
  };
  // 384 is too near to 256 to tell them apart; no tiles at all are too far.
  EXPECT_EQ(tiles(worth_a_trial(ranking, 9)), (std::vector<coordinates>{{256, 32}, {512, 16}, {0, 32}, {0, 64}}));
  EXPECT_EQ(tiles(worth_a_trial(ranking, 1)), (std::vector<coordinates>{{256, 32}}));
}

}  // namespace
