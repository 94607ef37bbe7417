// The port to a memory of a modelled machine: the accesses that the machine would be asked for, and a copy beside
// others that use the memory. Twin machines show what each access takes.
#include "model/graph_units/machine_memory.h"

#include <situ/graph/clone.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/graph_units/graph_copy_unit.h"
#include "model/unit_graph.h"

namespace situ::model {
namespace {

constexpr std::uint32_t ddr = 14;

modelled_machine nemesys() {
  return modelled_machine{read_machine(SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4.toml")};
}

TEST(machine_memory, asks_the_machine_for_each_access) {
  modelled_machine machine = nemesys();
  modelled_machine twin = nemesys();
  machine_memory port{machine, ddr};
  EXPECT_EQ(port.read(0x100, 4, 0), twin.memory_access(ddr, 0x100, 4, false, 0));
  EXPECT_EQ(port.write(0x200, 64, 0), twin.memory_access(ddr, 0x200, 64, true, 0));  // waits for the read
  port.post(0x300, 4, 0);
  (void)twin.memory_access(ddr, 0x300, 4, true, 0);
  EXPECT_EQ(port.read(0x400, 4, 0), twin.memory_access(ddr, 0x400, 4, false, 0));  // behind what was posted
  EXPECT_EQ(port.traffic(), (port_traffic{.reads = 2, .read_bytes = 8, .writes = 2, .written_bytes = 68}));
}

// 1500 bytes: pieces of 1024 and 476, each read and then written.
TEST(machine_memory, moves_ranges_in_pieces) {
  modelled_machine machine = nemesys();
  modelled_machine twin = nemesys();
  machine_memory port{machine, ddr};
  time_ps now = twin.memory_access(ddr, 0, 1024, false, 0);
  now = twin.memory_access(ddr, 0x8000, 1024, true, now);
  now = twin.memory_access(ddr, 1024, 476, false, now);
  now = twin.memory_access(ddr, 0x8400, 476, true, now);
  EXPECT_EQ(port.copy(0, 0x8000, 1500, 0), now);
  const time_ps copied = now;
  now = twin.memory_access(ddr, 0, 1024, true, now);
  now = twin.memory_access(ddr, 1024, 6, true, now);
  EXPECT_EQ(port.clear(0, 1030, copied), now);
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

}  // namespace
}  // namespace situ::model
