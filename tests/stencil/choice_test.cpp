// Which tiles a context runs a chain in, and what it says of them.
#include <situ/machine/discover.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace situ::stencil;
using testing::HasSubstr;
using testing::Not;

// Chains over more data than half of the last-level caches hold: smaller ones are not cut.
struct plate {
  context run;
  block<2> space{run, "space"};
  int n;
  dataset<double, 2> u, v;

  static int points() {
    std::uint64_t level = 0, bytes = 0;
    const auto tree = situ::machine::discover({.devices = false});
    for (const auto& node : tree.nodes())
      if (node.kind == situ::machine::node_kind::cache && node.level >= level)
        bytes = node.level > level ? node.bytes : bytes + node.bytes, level = node.level;
    return static_cast<int>(std::sqrt(static_cast<double>(std::max(bytes, std::uint64_t{8} << 20)) / 2 / 16 * 1.2));
  }
  explicit plate(const options& how) : run{how}, n{points()}, u{space, "u", {n, n}, 1}, v{space, "v", {n, n}, 1} {
    par_loop(
        "start", space, range(0, n, 0, n), [](auto x, const auto& i) { x(0, 0) = i[0] % 7 + i[1] % 5; }, write(u),
        index());
    run.execute();
  }
  // first: the dataset that is read first, 0 or 1
  void chain(int first = 0) {
    const auto step = [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); };
    for (int i = first; i < first + 4; ++i)
      par_loop("step", space, range(0, n, 0, n), step, read(i % 2 ? v : u, shape::star(2, 1)), write(i % 2 ? u : v));
    run.execute();
  }
  [[nodiscard]] std::string report() const {
    std::ostringstream text;
    run.report(text);
    return text.str();
  }
};

TEST(choice, the_model_names_the_tile_and_what_it_expects) {
  plate tiled{{.run_by = executor::tiled, .threads = 1}}, plain{{.run_by = executor::plain, .threads = 1}};
  tiled.chain(), plain.chain();
  EXPECT_GT(tiled.run.statistics().last_expected_seconds, 0);
  EXPECT_THAT(tiled.report(), HasSubstr("the last chain ran with"));
  EXPECT_THAT(tiled.report(), HasSubstr("expected"));
  EXPECT_EQ(plain.run.statistics().last_expected_seconds, 0);
  EXPECT_THAT(plain.report(), HasSubstr("no tiles: not by the model"));
  for (int i = 0; i < 4; ++i) tiled.chain(), plain.chain();  // other candidates, too
  EXPECT_EQ(tiled.u.fetch(), plain.u.fetch());
}

TEST(choice, chains_that_are_alike_compare_their_tiles_together) {
  plate tiled{{.run_by = executor::tiled, .threads = 1}}, plain{{.run_by = executor::plain, .threads = 1}};
  tiled.chain(), plain.chain();
  if (tiled.report().find("not tried") == std::string::npos) GTEST_SKIP() << "one tile only is worth a trial here";
  EXPECT_THAT(tiled.report(), Not(HasSubstr("best of"))) << "the first run warms up";
  tiled.chain(1), plain.chain(1);  // another plan: it is warm, since the first chain was
  EXPECT_THAT(tiled.report(), HasSubstr("best of 1"));
  for (int i = 0; i < 8; ++i) tiled.chain(i % 2), plain.chain(i % 2);
  EXPECT_THAT(tiled.report(), HasSubstr("best of 3"));
  EXPECT_EQ(tiled.u.fetch(), plain.u.fetch());
  EXPECT_EQ(tiled.v.fetch(), plain.v.fetch());
}

TEST(choice, without_tuning_the_models_first_tile_stays) {
  plate p{{.run_by = executor::tiled, .threads = 1, .tune = false}};
  p.chain();
  const auto tile = p.run.statistics().last_tile;
  for (int i = 0; i < 4; ++i) {
    p.chain();
    EXPECT_EQ(p.run.statistics().last_tile, tile);
  }
  EXPECT_THAT(p.report(), Not(HasSubstr("best of")));
}

TEST(choice, a_tile_that_is_given_is_taken) {
  plate p{{.run_by = executor::tiled, .threads = 1, .tile = {0, 64}}};
  p.chain();
  EXPECT_EQ(p.run.statistics().last_tile, (coordinates{0, 64}));
  EXPECT_EQ(p.run.statistics().measure_seconds, 0);
  EXPECT_THAT(p.report(), HasSubstr("tile 0,64: not by the model"));
}

TEST(choice, so_is_what_a_tile_may_fill) {
  plate p{{.run_by = executor::tiled, .threads = 1, .cache_bytes = 1 << 20, .tune = false}};
  p.chain();
  EXPECT_GT(p.run.statistics().last_tiles, 1);
  EXPECT_LE(p.run.statistics().last_footprint_bytes, 1u << 20);
  EXPECT_EQ(p.run.statistics().measure_seconds, 0);
}

TEST(choice, a_report_file_has_what_each_loop_read_and_wrote) {
  const auto file = std::filesystem::temp_directory_path() / ("situ_report_" + std::to_string(::getpid()) + ".json");
  {
    context c{{.run_by = executor::plain, .threads = 1, .report = true, .report_file = file}};
    const block<2> space{c, "space"};
    const dataset<double, 2> u{space, "u", {20, 10}, 1}, v{space, "v", {20, 10}};
    for (int i = 0; i < 3; ++i)
      par_loop(
          "a \"loop\"", space, range(0, 20, 0, 10), [](auto x, auto y) { y(0, 0) += x(1, 0); },
          read(u, shape::star(2, 1)), increment(v));
    c.execute();
    EXPECT_FALSE(std::filesystem::exists(file)) << "written when the context ends";
  }
  std::ifstream in{file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  std::filesystem::remove(file);
  EXPECT_THAT(text, HasSubstr(R"("executor": "plain")"));
  EXPECT_THAT(text, HasSubstr(R"("name": "a \"loop\"")"));
  EXPECT_THAT(text, HasSubstr(R"("calls": 3)"));
  EXPECT_THAT(text, HasSubstr(R"("points": 600)"));
  EXPECT_THAT(text, HasSubstr(R"("bytes_read": 9600)")) << "u, and v that is added to";
  EXPECT_THAT(text, HasSubstr(R"("bytes_written": 4800)"));
}

TEST(choice, the_report_forgets_chains_whose_datasets_are_gone) {
  plate p{{.run_by = executor::tiled, .threads = 1, .tile = {0, 64}}};
  p.chain();
  p.run.remove_dataset(p.v.core());
  EXPECT_THAT(p.report(), Not(HasSubstr("the last chain ran")));
}

TEST(report, says_how_many_datasets_a_loop_goes_over) {
  context c{{.run_by = executor::plain, .threads = 1, .report = true}};
  const block<2> space{c, "space"};
  const dataset<double, 2> a{space, "a", {40, 30}, 1}, b{space, "b", {40, 30}, 1}, total{space, "total", {40, 30}, 1};
  dataset_layout thin;
  thin.inner.high = {40, 1, 1, 1, 1};
  const dataset<double, 2> line{space, "line", thin};
  par_loop(
      "mix", space, range(0, 40, 0, 30),
      [](auto x, auto y, auto z, auto l) {
        y(0, 0) = x(0, 0) + l(0, 0);
        z(0, 0) += y(0, 0);
      },
      read(a), write(b), read_write(total), read(line, shape{"line", 2, {{0, 0}}, {1, 0, 1, 1, 1}}));
  c.execute();
  std::ostringstream text;
  c.report(text);
  // 1200 points: a once, b once, the total twice; and the line, which is no dataset of its size.
  EXPECT_THAT(text.str(), testing::ContainsRegex("mix +1 +[0-9.]+ +0.000 +[0-9.]+ +1 +1 +1\n"));
}

}  // namespace
