// Records of threads that move between cores.
#include "model/execution/trace_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "examples/command.h"
#include "model/execution/block_costs.h"
#include "model/execution/host_calls.h"

namespace situ::model {

// What the writer needs of the executor.
void give_up(const char* why) noexcept {
  ADD_FAILURE() << why;
  std::abort();
}
block_instructions read_block(std::uintptr_t, std::uintptr_t&) noexcept { return {}; }

namespace {

std::vector<champsim_record> records_of(const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  std::vector<champsim_record> all;
  for (champsim_record each; stream.read(reinterpret_cast<char*>(&each), sizeof each);) all.push_back(each);
  return all;
}

// Thread 0 moves from core 0 to core 1 and reads there, then thread 1 comes to core 0, then thread 0 writes what it has
// read: one instruction.
TEST(TraceWriter, AThreadThatHasMovedKeepsItsInstruction) {
  const package_rank::test::scratch_folder folder;
  const std::string file = folder.path() + "/trace";
  thread first, second;
  second.index = 1;
  core from, to;
  to.index = 1;
  trace_writer writer{file};
  from.current = &first;
  writer.access(from, 0x5000, access_kind::read, 0x100);
  to.current = &first;
  writer.access(to, 0x6000, access_kind::read, 0x104);
  from.current = &second;
  writer.access(from, 0x7000, access_kind::read, 0x100);
  writer.access(to, 0x6000, access_kind::write, 0x104);
  writer.end();
  EXPECT_EQ(records_of(file + ".0"), (std::vector<champsim_record>{{.ip = 0x100, .source_memory = {0x5000}},
                                                                   {.ip = 0x100, .source_memory = {0x7000}}}));
  EXPECT_EQ(records_of(file + ".1"),
            (std::vector<champsim_record>{{.ip = 0x104, .destination_memory = {0x6000}, .source_memory = {0x6000}}}));
}

// A thread that another one follows on its core has its record before that one's.
TEST(TraceWriter, TheRecordOfTheThreadBeforeComesFirst) {
  const package_rank::test::scratch_folder folder;
  const std::string file = folder.path() + "/trace";
  thread first, second;
  second.index = 1;
  core on;
  trace_writer writer{file};
  on.current = &first;
  writer.access(on, 0x5000, access_kind::read, 0x200);
  on.current = &second;
  writer.access(on, 0x6000, access_kind::read, 0x100);
  writer.end();
  EXPECT_EQ(records_of(file + ".0"), (std::vector<champsim_record>{{.ip = 0x200, .source_memory = {0x5000}},
                                                                   {.ip = 0x100, .source_memory = {0x6000}}}));
}

}  // namespace
}  // namespace situ::model
