// Pages that move along another ordering, and where pages are, on a modelled kernel.
#include "modelled_kernel.h"

namespace situ {
namespace {

TEST_F(modelled_placer, pages_move_along_another_ordering_and_what_lies_right_needs_no_room) {
  modelled_kernel& k = model({100 * MiB, 100 * MiB}, 120 * MiB);
  (void)place(in_order({0, 1}), 0, 120 * MiB);
  ASSERT_EQ(k.used(0), 90 * MiB);
  const placement_report same = placer{in_order({0, 1}), modelled_calls}.move(k.address(), 120 * MiB);
  EXPECT_EQ(same.outcome, placement_outcome::placed);
  EXPECT_EQ(same.corrected_pages, 0u) << "node 0 is full, with these pages";
  const placement_report other = placer{in_order({1, 0}), modelled_calls}.move(k.address(), 120 * MiB);
  EXPECT_EQ(other.outcome, placement_outcome::placed);
  EXPECT_EQ(k.used(1), 90 * MiB);
  EXPECT_EQ(k.used(0), 30 * MiB);
  EXPECT_EQ(other.memories[0].elsewhere_bytes + other.memories[1].elsewhere_bytes, 0u);
}

TEST_F(modelled_placer, without_room_for_all_nothing_moves) {
  modelled_kernel& k = model({200 * MiB, 50 * MiB}, 120 * MiB);
  (void)place(in_order({0}), 0, 120 * MiB);
  const placement_report report = placer{in_order({1}), modelled_calls}.move(k.address(), 120 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::no_room);
  EXPECT_EQ(report.placed_bytes, 0u);
  EXPECT_EQ(k.used(0), 120 * MiB);
  EXPECT_EQ(k.used(1), 0u);
  k.prohibited.insert(1);
  const placement_report refused = placer{in_order({1, 0}), modelled_calls}.move(k.address(), 120 * MiB);
  EXPECT_EQ(refused.memories[0].elsewhere_bytes, 45 * MiB) << "it may not use node 1: those stay";
}

TEST_F(modelled_placer, what_the_kernel_put_elsewhere_is_corrected_by_a_move_along_the_same_ordering) {
  modelled_kernel& k = model({200 * MiB, 200 * MiB}, 40 * MiB);
  k.falls = [](std::size_t p) { return p % 3 == 0 ? 1 : 0; };  // touched while node 0 was somebody else's
  for (std::size_t p = 0; p < 40 * MiB / page; ++p) EXPECT_TRUE(k.fault(p));
  const placement_report report = placer{in_order({0}), modelled_calls}.move(k.address(), 40 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(k.used(0), 40 * MiB);
  EXPECT_EQ(report.corrected_pages, (40 * MiB / page + 2) / 3);
}

TEST_F(modelled_placer, locations_are_told_by_node) {
  model({64 * MiB, 64 * MiB, 64 * MiB}, 16 * MiB);
  place(in_order({2}), 0, 8 * MiB);
  const detail::page_locations found = detail::locate_pages(kernel->address(), 16 * MiB, modelled_calls);
  EXPECT_THAT(found.node_bytes, ElementsAre(0u, 0u, 8 * MiB));
  EXPECT_EQ(found.absent_bytes, 8 * MiB);
  kernel->move_error = ENOSYS;
  const detail::page_locations unknown = detail::locate_pages(kernel->address(), 16 * MiB, modelled_calls);
  EXPECT_EQ(unknown.error, ENOSYS);
  EXPECT_EQ(unknown.absent_bytes, 0u);
}

}  // namespace
}  // namespace situ
