// The study of figure 8: its times against times worked out by hand, and its table against the aim of 10 %.
#include "nemesys/figure8.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "model/graph_units/machine_memory.h"
#include "nemesys/nemesys.h"
#include "support/build_paths.h"

namespace situ::studies::nemesys {
namespace {

using model::map_kind;

const study_context quick{.is_quick = true};

// 302 cycles of 10 ns: tests/model/graph_copy_unit_test.cpp counts them.
TEST(figure8, an_object_of_one_word_takes_3_02_us) {
  figure8 measured{quick};
  EXPECT_NEAR(measured.single_object(1), 3.02, 1e-9);
  EXPECT_NEAR(measured.single_object(1, 8), 3.11, 1e-9);
  EXPECT_NEAR(measured.single_object(2), 3.06, 1e-9);
  EXPECT_NEAR(measured.single_object(9) - measured.single_object(8), 0.10, 1e-9);
  EXPECT_NEAR(measured.single_object(17) - measured.single_object(16), 0.36, 1e-9);  // 4 + 6 + 26 cycles
}

TEST(figure8, there_are_only_objects_of_some_sizes) {
  figure8 measured{quick};
  EXPECT_THROW((void)measured.single_object(65), error);
  EXPECT_GT(measured.single_object(4096), measured.single_object(2048));
}

// The root with its descriptor's three words, 238 + 26 + 12 + 34; 1000 words, 52 + 2 * 999.
TEST(figure8, an_array_of_1000_words_takes_23_6_us) {
  figure8 measured{quick};
  EXPECT_NEAR(measured.primitive_array(1000), 23.6, 1e-9);
}

// Two elements and linear search. The first is met, 238; `next` is read, 30, and sought, 26; suspended, 52; the second
// is met, 238: a null `next`, 30. Its `previous` begins the next line, which is there 26 + 7 cycles after the first, so
// 29 on top of its 4; it is found as the first of two, 26 + 26; two words, 8; its end, 4. Retreat, 4 + 8 * 26; the
// first's `previous`, null, 30; 8; 4; 30.
TEST(figure8, a_list_of_two) {
  figure8 measured{quick};
  EXPECT_NEAR(measured.linked_list(2, map_kind::linear),
              0.01 * (238 + 30 + 26 + 52 + 238 + 30 + 29 + 4 + 52 + 8 + 4 + 4 + 208 + 30 + 8 + 4 + 30), 1e-9);
}

// The unit on a modelled machine that nobody else uses, for all four families: within 10 % of figure 8's memory.
TEST(figure8, a_quiet_machine_takes_what_the_memory_alone_takes) {
  struct quiet_machine {
    model::modelled_machine machine{model::read_machine(SITU_TEST_SOURCE_DIR "/../machines/nemesys-2x2-fitted.toml")};
    model::machine_memory port{machine, static_cast<std::uint32_t>(machine.spec().memories.size() - 1)};
  };
  figure8 alone{quick};
  figure8 on_machine{quick, [] {
                       const auto machine = std::make_shared<quiet_machine>();
                       return std::shared_ptr<model::unit_memory_port>{machine, &machine->port};
                     }};
  const auto expect_near = [](double ours, double figures, const char* what, std::uint64_t n) {
    EXPECT_NEAR(ours / figures, 1, 0.10) << what << " of " << n << ": " << ours << " us, alone " << figures;
  };
  for (const std::uint64_t n : {1U, 2U, 16U, 64U, 1024U, 4096U}) {
    expect_near(on_machine.single_object(n), alone.single_object(n), "object", n);
    expect_near(on_machine.primitive_array(n), alone.primitive_array(n), "array", n);
  }
  for (const std::uint64_t n : {1U, 2U, 32U, 256U})
    for (const map_kind map : {map_kind::linear, map_kind::hash}) {
      expect_near(on_machine.linked_list(n, map), alone.linked_list(n, map), "list", n);
      expect_near(on_machine.object_array(n, map), alone.object_array(n, map), "array of objects", n);
    }
}

TEST(figure8, runs_are_alike) {
  figure8 first{quick};
  figure8 second{quick};
  for (const std::uint64_t n : {3U, 64U, 1000U}) {
    EXPECT_EQ(first.linked_list(n, map_kind::hash), second.linked_list(n, map_kind::hash));
    EXPECT_EQ(first.object_array(n, map_kind::hash), second.object_array(n, map_kind::hash));
  }
}

TEST(nemesys, every_line_of_the_hardware_is_within_ten_percent) {
  const study_result result = run(quick);
  ASSERT_FALSE(result.parts.empty());
  const study_part& part = result.parts[0];
  EXPECT_EQ(part.plots.size(), 4U);
  std::size_t compared = 0;
  for (const comparison_row& row : part.rows) {
    const bool is_software = row.what.find("software") != std::string::npos;
    EXPECT_EQ(row.ours.has_value(), !is_software) << row.what;
    if (!row.ours) continue;
    ++compared;
    EXPECT_LE(std::abs(*row.deviation()), 10) << row.what << ": " << *row.ours;
  }
  EXPECT_EQ(compared, 12U);
  EXPECT_EQ(part.missing.size(), 1U);  // the software lines: their program does not lie beside this test
}

// Thresholds that another criterion would move are no predictions.
TEST(nemesys, says_which_thresholds_hang_on_a_criterion) {
  const study_result result = run(quick);
  std::size_t thresholds = 0;
  for (const comparison_row& row : result.parts.at(0).rows) {
    if (row.what.find("hashing faster than linear") != std::string::npos) {
      EXPECT_NE(row.remark.find("by any margin from 32"), std::string::npos) << row.what << ": " << row.remark;
    } else if (row.what != "(b) full speed from") {
      EXPECT_NE(row.from, origin::criterion) << row.what;
      continue;
    }
    ++thresholds;
    EXPECT_EQ(name(row.from), "criterion chosen") << row.what;
  }
  EXPECT_EQ(thresholds, 3U);
}

TEST(nemesys, leaves_what_is_finished_when_it_is_stopped) {
  int points = 0;
  study_context context{.is_quick = true};
  context.progress = [&](std::string_view) { ++points; };
  context.is_stopped = [&] { return points >= 20; };
  const study_result result = run(context);
  EXPECT_TRUE(result.was_stopped);
  EXPECT_EQ(points, 20);
  EXPECT_EQ(result.parts[0].plots.size(), 2U);
  EXPECT_FALSE(result.parts[0].rows.empty());
}

}  // namespace
}  // namespace situ::studies::nemesys
