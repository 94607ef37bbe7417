// Traces of ChampSim's format: read, refused, and replayed on a core.
#include <situ/base/error.h>

#include "model/parts/champsim_trace.h"
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/trace_replay.h"
#include "one_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

std::string bytes_of(const std::vector<champsim_record>& records) {
  std::string made;
  for (const champsim_record& each : records) made.append(reinterpret_cast<const char*>(&each), sizeof(each));
  return made;
}

const std::string name = "a.trace";

std::string error_of(const std::string& content) {
  std::istringstream stream{content};
  champsim_reader reader{stream, name};
  champsim_record record;
  try {
    while (reader.next(record)) {}
    return "no error";
  } catch (const error& failure) {
    return std::string{failure.message()};
  }
}

// The bytes of a record are where ChampSim has them.
TEST(ChampsimTrace, ARecordsBytes) {
  std::string bytes(64, '\0');
  bytes[0] = 0x34;  // ip
  bytes[1] = 0x12;
  bytes[8] = 1;      // a branch
  bytes[9] = 1;      // taken
  bytes[10] = 26;    // writes the instruction pointer
  bytes[13] = 25;    // reads the flags
  bytes[24] = 0x40;  // second address that it writes
  bytes[32] = 0x50;  // first address that it reads
  bytes[56] = 0x60;  // fourth one
  std::istringstream stream{bytes};
  champsim_reader reader{stream, name};
  champsim_record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record, (champsim_record{.ip = 0x1234,
                                     .is_branch = 1,
                                     .branch_taken = 1,
                                     .destination_registers = {26, 0},
                                     .source_registers = {0, 25, 0, 0},
                                     .destination_memory = {0, 0x40},
                                     .source_memory = {0x50, 0, 0, 0x60}}));
  EXPECT_FALSE(reader.next(record));
}

TEST(ChampsimTrace, BadRecordsAreRefusedWithTheirOffset) {
  const std::vector<champsim_record> good(3, champsim_record{.ip = 1});
  EXPECT_EQ(error_of(bytes_of(good)), "no error");
  EXPECT_EQ(error_of(""), "no error");
  EXPECT_THAT(error_of(bytes_of(good).substr(0, 150)),
              HasSubstr("a.trace: ends within the record at byte 128: 22 of 64 bytes"));
  std::vector<champsim_record> bad = good;
  bad[1].is_branch = 7;
  EXPECT_THAT(error_of(bytes_of(bad)), HasSubstr("a.trace: the record at byte 64 has is_branch 7"));
  bad = good;
  bad[2].source_memory[3] = std::uint64_t{1} << 60;
  EXPECT_THAT(error_of(bytes_of(bad)), HasSubstr("the record at byte 128 has an address of more than 57 bits"));
  EXPECT_THAT(error_of("\xfd"
                       "7zXZ" +
                       std::string(100, '\x55')),
              HasSubstr("at byte 0 has is_branch"));
}

// trace_replay.h works this out: memory answers 100 ns after the core's load.
TEST(TraceReplay, TheHeadersExample) {
  modelled_machine machine{parse_machine(R"(name = "one core"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "100 ns"
bandwidth = "64 GB/s"
)" + one_core("512 B", 2),
                                         "test")};
  machine.map_range(0, 1 << 20, 0);
  std::istringstream stream{bytes_of(
      {{.ip = 1, .source_memory = {64}}, {.ip = 2}, {.ip = 3, .destination_memory = {72}, .source_memory = {72}}})};
  champsim_reader reader{stream, name};
  const replay_figures made = replay(machine, 0, reader);
  EXPECT_EQ(made.instructions, 3u);
  EXPECT_EQ(made.reads, 2u);
  EXPECT_EQ(made.writes, 1u);
  EXPECT_EQ(made.time, 105'000u);
  for (const part_counters& part : machine.counters())
    if (part.kind == "cache") {
      EXPECT_EQ(part["misses"], 1u);
      EXPECT_EQ(part["hits"], 2u);
    }
}

}  // namespace
}  // namespace situ::model
