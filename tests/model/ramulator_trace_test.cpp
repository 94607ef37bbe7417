// Traces of Ramulator's formats: read, refused with their lines, and replayed on a memory.
#include "model/parts/ramulator_trace.h"

#include <situ/base/error.h>
#include <situ/model/replay.h>

#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/ramulator_replay.h"
#include "one_core.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ios>
#include <istream>
#include <random>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string name = "a.trace";

std::vector<ramulator_line> lines_of(const std::string& content) {
  std::istringstream stream{content};
  ramulator_reader reader{stream, name};
  std::vector<ramulator_line> lines;
  for (ramulator_line each; reader.next(each);) lines.push_back(each);
  return lines;
}

std::string error_of(const std::string& content) {
  try {
    (void)lines_of(content);
    return "no error";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_file);
    return std::string{failure.message()};
  }
}

// Lines as Ramulator's own examples have them.
TEST(RamulatorTrace, EachFormatsLines) {
  EXPECT_THAT(
      lines_of("0x12345680 R\n0x4cbd56c0 W\n"),
      ElementsAre(ramulator_line{.address = 0x12345680}, ramulator_line{.address = 0x4cbd56c0, .writes = true}));
  EXPECT_THAT(lines_of("1234a R"), ElementsAre(ramulator_line{.address = 0x1234a})) << "hexadecimal in any case";
  EXPECT_THAT(lines_of("LD 0x40\nST 128\r\n"),
              ElementsAre(ramulator_line{.address = 64}, ramulator_line{.address = 128, .writes = true}));
  EXPECT_THAT(lines_of("3 20734016\n\n1 0x80 4207488\n"),
              ElementsAre(ramulator_line{.bubbles = 3, .address = 20734016},
                          ramulator_line{.bubbles = 1, .address = 128, .write_back = 4207488}));
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_TRUE(lines_of(" \n\t\n").empty());
}

TEST(RamulatorTrace, BadLinesAreRefusedWithTheirNumber) {
  EXPECT_THAT(error_of("0x40 R\n\n0x80 X\n"), HasSubstr("a.trace:3: is not of the form \"ADDRESS R|W\""));
  EXPECT_THAT(error_of("0x40 R\nLD 0x40\n"), HasSubstr("a.trace:2: is not of the form \"ADDRESS R|W\""));
  EXPECT_THAT(error_of("hello\n"), HasSubstr("a.trace:1: is neither \"ADDRESS R|W\", nor"));
  EXPECT_THAT(error_of("R 0,0,1,2,100,8\n"), HasSubstr("a.trace:1: names a place in a memory, not an address"));
  EXPECT_THAT(error_of("0xg R\n"), HasSubstr("a.trace:1: has no address in 0xg"));
  EXPECT_THAT(error_of("LD 12ab\n"), HasSubstr("a.trace:1: has no address in 12ab"));
  EXPECT_THAT(error_of("LD 0x\n"), HasSubstr("has no address in 0x"));
  EXPECT_THAT(error_of("LD -1\n"), HasSubstr("has no address in -1"));
  EXPECT_THAT(error_of("0x200000000000000 W\n"), HasSubstr("0x200000000000000 has more than 57 bits"));
  EXPECT_THAT(error_of("LD 99999999999999999999999\n"), HasSubstr("has more than 57 bits"));
  EXPECT_THAT(error_of("9999999999 64\n"), HasSubstr("a.trace:1: has more than 2147483647 instructions"));
  EXPECT_THAT(error_of("1 2 3 4\n"), HasSubstr("a.trace:1: is neither"));
  EXPECT_THAT(error_of(fmt::format("LD 64\n{:300}LD 64\n", "")), HasSubstr("a.trace:2: has more than 255"));
}

// A file that cannot be read further, within its third line.
class breaking_file final : public std::streambuf {
 public:
  breaking_file() { setg(text_.data(), text_.data(), text_.data() + text_.size()); }

 protected:
  int_type underflow() override { throw std::ios_base::failure("broken"); }

 private:
  std::string text_ = "LD 64\nLD 128\nLD 1";
};

TEST(RamulatorTrace, AReadErrorWithinALineIsTold) {
  breaking_file broken;
  std::istream stream{&broken};
  ramulator_reader reader{stream, name};
  ramulator_line line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  try {
    (void)reader.next(line);
    ADD_FAILURE() << "a line was read";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_file);
    EXPECT_THAT(std::string{failure.message()}, HasSubstr("a.trace: cannot be read after line 2"));
  }
}

// The reader would refuse the line.
TEST(RamulatorTrace, ALineOfTooManyInstructionsIsNotWritten) {
  const ramulator_line most{.bubbles = 0x7fff'ffff, .address = 64};
  EXPECT_THAT(lines_of(to_text(most, ramulator_format::cpu)), ElementsAre(most));
  const ramulator_line longer{.bubbles = 0x8000'0000, .address = 64};
  EXPECT_EQ(to_text(longer, ramulator_format::load_store), "LD 0x40\n");
  try {
    (void)to_text(longer, ramulator_format::cpu);
    ADD_FAILURE() << "the line was written";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_argument);
    EXPECT_THAT(std::string{failure.message()}, HasSubstr("2147483648 instructions before its read of 0x40"));
  }
}

// What to_text() writes is read as the same.
TEST(RamulatorTrace, WhatIsWrittenIsRead) {
  std::mt19937_64 random{7};
  for (const ramulator_format format : {ramulator_format::dram, ramulator_format::load_store, ramulator_format::cpu}) {
    std::vector<ramulator_line> lines(500);
    std::string text;
    for (ramulator_line& each : lines) {
      each.address = random() >> (7 + random() % 57);
      if (format == ramulator_format::cpu) {
        each.bubbles = random() >> (33 + random() % 31);
        if (random() % 2 == 0) each.write_back = random() >> (7 + random() % 57);
      } else {
        each.writes = random() % 2 == 0;
      }
      text += to_text(each, format);
    }
    EXPECT_EQ(lines_of(text), lines);
  }
}

const std::string memory = R"(name = "one core"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
access_time = "100 ns"
bandwidth = "6.4 GB/s"
)";

replay_figures replayed(const std::string& content, const std::string& machine) {
  modelled_machine made{parse_machine(machine, "test")};
  std::istringstream stream{content};
  ramulator_reader reader{stream, name};
  const replay_figures found = replay(made, 0, 0, reader);
  for (const part_counters& part : made.counters()) {
    if (part.kind != "memory") continue;
    EXPECT_EQ(part["reads"], found.reads);
    EXPECT_EQ(part["writes"], found.writes);
  }
  return found;
}

// ramulator_replay.h works these out.
TEST(RamulatorReplay, TheHeadersExamples) {
  const std::string machine = memory + one_core("512 B", 2);
  const replay_figures requests = replayed("0x0 R\n0x40 W\n0x80 R\n", machine);
  EXPECT_EQ(requests.reads, 2u);
  EXPECT_EQ(requests.writes, 1u);
  EXPECT_EQ(requests.instructions, 0u);
  EXPECT_EQ(requests.time, 120'000u);
  const replay_figures core = replayed("3 0 64\n0 128\n", machine);
  EXPECT_EQ(core.instructions, 5u);
  EXPECT_EQ(core.reads, 2u);
  EXPECT_EQ(core.writes, 1u);
  EXPECT_EQ(core.time, 205'000u);
}

// At most 32 requests are under way: of 64 for a memory that takes 1000 ns and is never busy for long, the second half
// waits for the first.
TEST(RamulatorReplay, AQueueHolds32) {
  std::string machine = memory + one_core("512 B", 2);
  machine.replace(machine.find("100 ns"), 6, "1000 ns");
  machine.replace(machine.find("6.4 GB/s"), 8, "64 GB/s");
  std::string content;
  for (int i = 0; i < 64; ++i)
    content += to_text({.address = static_cast<std::uint64_t>(i) * 64}, ramulator_format::dram);
  EXPECT_EQ(replayed(content, machine).time, 2'031'000u);
}

// A core with a window has both reads under way: sent at 1 and 2 ns.
TEST(RamulatorReplay, ACoreWithAWindowGoesOn) {
  std::string machine = memory + one_core("512 B", 2);
  EXPECT_EQ(replayed("0 0\n0 64\n", machine).time, 202'000u);
  machine += "window = 10\nstore_buffer = 8\n";
  EXPECT_EQ(replayed("0 0\n0 64\n", machine).time, 111'000u);
  EXPECT_EQ(replayed("0 0\n20 64\n", machine).time, 201'000u) << "the window is full after 10 instructions";
}

}  // namespace
}  // namespace situ::model
