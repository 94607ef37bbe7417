// The port to a memory of a modelled machine: the accesses that the machine would be asked for, and a copy beside
// others that use the memory. Twin machines show what each access takes.
#include "model/graph_units/machine_memory.h"

#include <situ/graph/clone.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/graph_units/graph_copy_unit.h"
#include "model/unit_graph.h"
#include "support/build_paths.h"

namespace situ::model {
namespace {

constexpr std::uint32_t ddr = 14;

modelled_machine nemesys() {
  return modelled_machine{read_machine(SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4-fitted.toml")};
}

constexpr time_ps cycle = 10'000;

// A word is there after 26 cycles and keeps the memory for 8 + 1; 16 words after 41, for 8 + 16.
TEST(machine_memory, an_access_takes_the_unit_s_time_and_keeps_others_out_for_its_words) {
  modelled_machine machine = nemesys();
  machine_memory port{machine, ddr};
  EXPECT_EQ(port.read(0x100, 4, 0), 26 * cycle);
  EXPECT_EQ(port.write(0x200, 64, 0), (9 + 41) * cycle);                                    // behind the read's 9
  EXPECT_EQ(machine.memory_access(ddr, 0x1000, 32, false, 0), (9 + 24) * cycle + 540'000);  // as for a core
  EXPECT_EQ(port.read(0x300, 4, 0), (9 + 24 + 54 + 26) * cycle);                            // behind that
  EXPECT_EQ(port.traffic(), (port_traffic{.reads = 2, .read_bytes = 8, .writes = 1, .written_bytes = 64}));
}

// 8 words to one line are one write: 8 + 8 cycles of the memory, instead of 8 times 9. The first read goes before it.
TEST(machine_memory, gathers_posts_to_a_line) {
  modelled_machine machine = nemesys();
  machine_memory port{machine, ddr};
  for (std::uint64_t at = 0; at < 32; at += 4) port.post(0x200 + at, 4, 0);
  EXPECT_EQ(port.read(0x400, 4, 0), 26 * cycle);
  EXPECT_EQ(port.read(0x400, 4, 0), (9 + 16 + 26) * cycle);
  EXPECT_EQ(port.traffic(), (port_traffic{.reads = 2, .read_bytes = 8, .writes = 8, .written_bytes = 32}));
}

// Three words, not yet a line: the read goes first, 9 cycles, and then they, 8 + 3. A post elsewhere sends them, too.
TEST(machine_memory, what_is_gathered_goes_behind_the_next_read_or_before_a_post_elsewhere) {
  modelled_machine machine = nemesys();
  machine_memory port{machine, ddr};
  for (std::uint64_t at = 0; at < 12; at += 4) port.post(0x200 + at, 4, 0);
  EXPECT_EQ(port.read(0x400, 4, 0), 26 * cycle);
  EXPECT_EQ(port.read(0x400, 4, 0), (9 + 11 + 26) * cycle);
  modelled_machine other = nemesys();
  machine_memory second{other, ddr};
  second.post(0x200, 4, 0);
  second.post(0x300, 4, 0);
  EXPECT_EQ(second.read(0x400, 4, 0), (9 + 26) * cycle);
  EXPECT_EQ(second.read(0x400, 4, 0), (9 + 9 + 9 + 26) * cycle);
}

// 40 bytes from the last word of a line on: 1 word, a whole line, and 1 that is gathered.
TEST(machine_memory, cuts_a_post_at_lines) {
  modelled_machine machine = nemesys();
  machine_memory port{machine, ddr};
  port.post(0x21c, 40, 0);
  EXPECT_EQ(port.read(0x400, 4, 0), (9 + 16 + 26) * cycle);
}

// 1500 bytes are 375 words. Moved: 26 + 374 twice. Zeroed: 8 + 375.
TEST(machine_memory, moves_and_zeroes_ranges_as_fast_as_the_words_go) {
  modelled_machine machine = nemesys();
  machine_memory port{machine, ddr};
  EXPECT_EQ(port.copy(0, 0x8000, 1500, 0), 800 * cycle);
  EXPECT_EQ(port.clear(0, 1500, 1000 * cycle), (1000 + 383) * cycle);
}

copy_result copy_on(modelled_machine& machine, const test::unit_node* root, std::vector<std::byte>& to) {
  machine_memory port{machine, ddr};
  graph_copy_unit unit{port};
  const detail::graph_root graph = detail::root_of(root);
  return unit.copy({.root = graph.object,
                    .type = graph.type,
                    .destination = to.data(),
                    .destination_bytes = to.size(),
                    .map = map_kind::linear},
                   0);
}

TEST(machine_memory, a_copy_takes_longer_beside_others) {
  test::unit_graph_maker maker{3};
  const test::unit_node* const root = maker.make(20);
  std::vector<std::byte> to(1 << 16);
  modelled_machine quiet = nemesys();
  const copy_result alone = copy_on(quiet, root, to);
  EXPECT_EQ(test::canonical_graph{static_cast<const test::unit_node*>(alone.root)}.words(),
            test::canonical_graph{clone(root).get()}.words());
  modelled_machine busy = nemesys();
  time_ps others = 0;
  for (int i = 0; i < 100; ++i) others = busy.memory_access(ddr, 0x10'0000, 32, false, 0);
  const copy_result beside = copy_on(busy, root, to);
  EXPECT_GE(beside.end, others);
  EXPECT_GT(beside.end, alone.end);
  EXPECT_EQ(beside.bytes, alone.bytes);
}

// The whole copy is asked for in one call: who comes later for a time within it is behind all but its last accesses.
TEST(machine_memory, who_comes_during_a_copy_is_served_near_its_end) {
  test::unit_graph_maker maker{3};
  const test::unit_node* const root = maker.make(20);
  std::vector<std::byte> to(1 << 16);
  modelled_machine machine = nemesys();
  const copy_result copy = copy_on(machine, root, to);
  ASSERT_GT(copy.end, 10'000 * cycle);
  EXPECT_GT(machine.memory_access(ddr, 0x10'0000, 32, false, 1000 * cycle), copy.end - 1000 * cycle);
}

}  // namespace
}  // namespace situ::model
