// Figures of a machine's file that are set from outside.
#include "model/parts/machine_settings.h"

#include <situ/base/error.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/parts/machine_spec.h"
#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr std::string_view text = R"(name = "m"
[[node]]
id = "cache"
size = "1 KiB"  # not "2 KiB"
ways = 2

[[node]]
id = "core"
position = [
  "0,0"]
)";

TEST(MachineSettings, TakeThePlaceOfWhatStoodThere) {
  EXPECT_EQ(apply_settings("size = 1\n", "", {"size=2"}), "size = 2\n");
  const std::string changed = apply_settings(
      text, "", {"cache.size=64KiB", "cache.ways = 4", "cache.latency=2 ns", "name=other", "core.window=8"});
  EXPECT_EQ(changed, R"(name = "other"
[[node]]
id = "cache"
size = "64KiB"
ways = 4
latency = "2 ns"
[[node]]
window = 8
id = "core"
position = [
  "0,0"]
)");
}

std::string message_of(const std::vector<std::string>& settings) {
  try {
    (void)apply_settings(text, "m.toml", settings);
  } catch (const error& failure) {
    return std::string{failure.message()};
  }
  return "";
}

TEST(MachineSettings, ChangeAFigureOfATable) {
  constexpr std::string_view core = R"([[node]]
id = "core"
dtlb = { entries = 16, page = "64 KiB", walk = 200 }  # of data
assumed.dtlb.walk = { low = 100, high = 300, source = "nobody" }
)";
  EXPECT_EQ(apply_settings(core, "", {"core.dtlb.page=16MiB", "core.dtlb.walk=250", "core.dtlb.ways=4"}), R"([[node]]
id = "core"
dtlb = { entries = 16, page = "16MiB", walk = 250, ways = 4 }

)");
}

TEST(MachineSettings, SayWhatThereIs) {
  EXPECT_THAT(message_of({"core.dtlb.page=1 MiB"}), HasSubstr("m.toml: there is no table dtlb in a line of its own"));
  EXPECT_EQ(message_of({"cash.size=1"}), "m.toml: there is no \"cash\" to set \"cash.size\" of; there are cache, core");
  EXPECT_THAT(message_of({"cache.size"}), HasSubstr("\"cache.size\" is not of the form KEY=VALUE"));
  EXPECT_THAT(message_of({"core.position=1"}),
              HasSubstr("m.toml:9: the value of core.position goes over several lines"));
}

constexpr std::string_view marked = R"(name = "m"
[[node]]
id = "core"
kind = "core"
cycles = { integer = 1, call = 3 }
assumed.cycles.call = { low = 1, high = 3, source = "w" }
window = 4
assumed.window = { low = 2, high = 8, source = "low = 1, high = 9" }
[[node]]
id = "l1"
kind = "cache"
level = 1
latency = "20 ns"
assumed.latency = { low = "10 ns", high = "40 ns", source = "w" }
allocates_on = "reads"
assumed.allocates_on = { others = ["reads_and_writes"], source = "w" }
)";

// The figures that are set lose their marks, whose lines stay, so that errors name the lines of the file.
TEST(MachineSettings, LowAndHighAreTheEndsOfAnAssumedRange) {
  std::vector<machine::assumption> assumed;
  const auto with = [&](const std::vector<std::string>& settings) {
    const std::string changed = apply_settings(marked, "m.toml", settings);
    static_cast<void>(machine::parse_toml(changed, "m.toml", nullptr, &assumed));
    EXPECT_EQ(std::ranges::count(changed, '\n'), std::ranges::count(marked, '\n'));
    return changed;
  };
  EXPECT_THAT(with({"core.window=low"}), HasSubstr("\nwindow = 2\n\n[[node]]"));
  ASSERT_EQ(assumed.size(), 3u);
  EXPECT_EQ(assumed[0].figure, "core.cycles.call");
  EXPECT_THAT(with({"core.window=high", "l1.latency=high"}), HasSubstr("\nlatency = \"40 ns\"\n\nallocates_on"));
  ASSERT_EQ(assumed.size(), 2u);
  EXPECT_THAT(with({"core.window=99"}), HasSubstr("\nwindow = 99\n"));  // beyond the range: it is not assumed any more
  EXPECT_THAT(with({"core.cycles={integer=2}"}), HasSubstr("\ncycles = {integer=2}\n\nwindow"));
  ASSERT_EQ(assumed.size(), 3u);
  EXPECT_THAT(with({"l1.allocates_on=reads_and_writes"}), HasSubstr("allocates_on = \"reads_and_writes\"\n\n"));
  try {
    (void)apply_settings(marked, "m.toml", {"l1.allocates_on=high"});
    ADD_FAILURE() << "a word has no high end";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_argument);
    EXPECT_EQ(failure.message(),
              "m.toml: l1.allocates_on is \"reads\", which has no range; it could be \"reads_and_writes\"");
  }
}

// 64 KiB in 4 ways of lines of 32 bytes: 512 sets; the mesh's one link has no id.
TEST(MachineSettings, AreReadAsTheFileIs) {
  const std::string file = SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4-fitted.toml";
  std::ifstream stream{file};
  const std::string nemesys{std::istreambuf_iterator<char>{stream}, {}};
  const machine_spec spec =
      parse_machine(apply_settings(nemesys, file, {"l2.size=64KiB", "link.latency=20 ns", "core.clock=100MHz"}), file);
  EXPECT_EQ(spec.caches[0].sets, 512u);
  EXPECT_EQ(spec.mesh.hop_time, 20'000u);
  EXPECT_EQ(spec.cores[0].period, 10'000u);
  const auto refused = [&](const char* setting) {
    try {
      (void)parse_machine(apply_settings(nemesys, "n.toml", {setting}), "n.toml");
    } catch (const error& failure) {
      return std::string{failure.message()};
    }
    return std::string{};
  };
  EXPECT_THAT(refused("l2.ways=3"), HasSubstr("a power of two of them is allowed"));
  EXPECT_THAT(refused("l2.sise=1KiB"), HasSubstr("size"));
  const auto size =
      nemesys.begin() + static_cast<std::ptrdiff_t>(nemesys.find("\nsize", nemesys.find("id = \"l2\"")) + 1);
  EXPECT_THAT(refused("l2.size=big"),
              HasSubstr(fmt::format("n.toml:{}:", 1 + std::count(nemesys.begin(), size, '\n'))));
}

}  // namespace
}  // namespace situ::model
