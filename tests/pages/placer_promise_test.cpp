// Pages along an ordering at first touch, promised until then, on a modelled kernel.
#include "modelled_kernel.h"

#include "pages/promises.h"

#include <atomic>
#include <random>
#include <thread>

namespace situ {
namespace {

// What two placers have promised of a modelled range.
class modelled_promises final : public detail::promises {
 public:
  explicit modelled_promises(std::uint64_t range_bytes, std::uint64_t offset = 0)
      : cells_{std::make_unique<detail::promise_map::cell[]>(detail::promise_map::cells_for(range_bytes))},
        map{static_cast<const std::byte*>(kernel->address(offset)), range_bytes, cells_.get(), sums_, &open} {}
  detail::promise_sums& sums() noexcept override { return sums_; }
  void settle(detail::residence_call residence) noexcept override {
    ++settled;
    map.settle(residence);
  }
  [[nodiscard]] std::uint64_t of(std::uint32_t node) const { return sums_.bytes[node]; }

 private:
  detail::promise_sums sums_;
  std::unique_ptr<detail::promise_map::cell[]> cells_;

 public:
  std::atomic<std::uint64_t> open{0};
  detail::promise_map map;
  std::atomic<int> settled{0};
};

class modelled_promise : public modelled_placer {
 protected:
  void touch(std::uint64_t offset, std::uint64_t bytes) {
    for (std::size_t p = offset / page; p < (offset + bytes) / page; ++p) EXPECT_TRUE(kernel->fault(p));
  }
  static placement_report promise(const spill_ordering& ordering, modelled_promises& all, std::uint64_t offset,
                                  std::uint64_t bytes) {
    return placer{ordering, modelled_calls, &all}.promise(kernel->address(offset), bytes, all.map);
  }
  // The sums are what the cells add up to.
  static void expect_consistent(const modelled_promises& all) {
    EXPECT_EQ(all.map.promised_bytes(), all.open);
    std::uint64_t sum = 0;
    for (std::uint32_t node = 0; node < kernel->nodes.size(); ++node) sum += all.of(node);
    EXPECT_EQ(sum, all.open);
  }
};

TEST_F(modelled_promise, no_page_is_made_and_each_comes_from_its_memory_when_it_is_touched) {
  modelled_kernel& k = model({100 * MiB, 200 * MiB, 400 * MiB}, 300 * MiB);
  modelled_promises all{300 * MiB};
  const placement_report report = promise(in_order({2, 0, 1}, 0.5), all, 0, 300 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(k.used(0) + k.used(1) + k.used(2), 0u) << "nothing has been touched";
  EXPECT_EQ(all.of(2), 200 * MiB);
  EXPECT_EQ(all.of(0), 50 * MiB);
  EXPECT_EQ(all.of(1), 50 * MiB);
  expect_consistent(all);
  touch(0, 300 * MiB);
  EXPECT_EQ(k.used(2), 200 * MiB);
  EXPECT_EQ(k.used(0), 50 * MiB);
  all.settle(modelled_residence);
  EXPECT_EQ(all.open, 0u);
  expect_consistent(all);
}

TEST_F(modelled_promise, what_is_promised_is_no_room_for_others_and_what_is_touched_counts_once) {
  model({100 * MiB, 100 * MiB}, 300 * MiB);
  modelled_promises all{300 * MiB};
  (void)promise(in_order({0, 1}), all, 0, 60 * MiB);
  touch(10 * MiB, 30 * MiB);
  const placement_report eager =
      placer{in_order({0, 1}), modelled_calls, &all}.place(kernel->address(100 * MiB), 60 * MiB);
  EXPECT_EQ(eager.outcome, placement_outcome::placed);
  EXPECT_EQ(eager.memories[0].placed_bytes, 30 * MiB) << "90 less 30 that are touched and 30 that are promised";
  EXPECT_EQ(all.of(0), 30 * MiB);
  EXPECT_GT(all.settled, 0);
  touch(0, 60 * MiB);
  EXPECT_EQ(kernel->used(0), 90 * MiB) << "as promised";
  expect_consistent(all);
}

TEST_F(modelled_promise, without_room_it_ends_and_what_it_took_can_be_withdrawn) {
  model({100 * MiB}, 300 * MiB);
  modelled_promises all{300 * MiB};
  const placement_report report = promise(in_order({0}), all, 0, 120 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::no_room);
  EXPECT_EQ(report.placed_bytes, 90 * MiB);
  EXPECT_EQ(kernel->used(0), 0u);
  touch(0, 10 * MiB);
  EXPECT_EQ(all.map.withdraw(static_cast<std::byte*>(kernel->address()), 120 * MiB), 90 * MiB)
      << "nobody has settled what was touched";
  EXPECT_EQ(all.of(0), 0u);
  expect_consistent(all);
}

TEST_F(modelled_promise, the_last_memory_takes_what_is_left_of_it_without_what_is_promised) {
  model({100 * MiB, 1000 * MiB}, 1200 * MiB);
  modelled_promises all{1200 * MiB};
  const placement_report report = promise(in_order({0, 1}, 0.5, when_full::last_memory), all, 0, 1020 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(all.of(0), 50 * MiB);
  EXPECT_EQ(all.of(1), 970 * MiB);
  const placement_report more = promise(in_order({0, 1}, 0.5, when_full::last_memory), all, 1024 * MiB, 100 * MiB);
  EXPECT_EQ(more.outcome, placement_outcome::no_room) << "a 64th of a node is nobody's";
  expect_consistent(all);
}

TEST_F(modelled_promise, a_range_that_begins_and_ends_amid_cells_is_counted_by_pages) {
  model({100 * MiB}, 10 * MiB);
  modelled_promises all{3 * MiB, 5 * page};
  (void)promise(in_order({0}), all, 5 * page, 3 * MiB);
  EXPECT_EQ(all.of(0), 3 * MiB);
  touch(5 * page, page);
  all.settle(modelled_residence);
  EXPECT_EQ(all.of(0), 3 * MiB - page);
  EXPECT_EQ(all.map.withdraw(static_cast<std::byte*>(kernel->address(5 * page)), 3 * MiB), 3 * MiB - page);
  expect_consistent(all);
}

TEST_F(modelled_promise, what_is_promised_of_pages_is_room_for_their_move) {
  modelled_kernel& k = model({100 * MiB, 100 * MiB}, 400 * MiB);
  modelled_promises all{400 * MiB};
  (void)promise(in_order({0}), all, 0, 80 * MiB);
  touch(0, 20 * MiB);
  const auto move = [&](std::vector<std::uint32_t> nodes, std::uint64_t bytes) {
    return placer{in_order(std::move(nodes)), modelled_calls, &all}.move(k.address(), bytes, {}, &all.map);
  };
  const std::uint64_t before = all.of(0);
  EXPECT_EQ(move({1}, 100 * MiB).outcome, placement_outcome::no_room);
  EXPECT_EQ(all.of(0), before) << "as it was";
  expect_consistent(all);
  const placement_report report = move({0, 1}, 80 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.memories[0].placed_bytes, 80 * MiB) << "10 of node 0 are promised to nobody, 60 to these";
  EXPECT_EQ(all.of(0), 0u);
  expect_consistent(all);
}

TEST_F(modelled_promise, what_is_promised_of_others_is_no_room_for_a_move) {
  modelled_kernel& k = model({100 * MiB, 100 * MiB}, 400 * MiB);
  modelled_promises all{400 * MiB};
  (void)promise(in_order({0}), all, 0, 40 * MiB);
  (void)promise(in_order({0}), all, 40 * MiB, 40 * MiB);
  touch(40 * MiB, 10 * MiB);
  (void)place(in_order({1}), 80 * MiB, 40 * MiB);
  const placement_report report =
      placer{in_order({0, 1}), modelled_calls, &all}.move(k.address(80 * MiB), 40 * MiB, {}, &all.map);
  EXPECT_EQ(report.memories[0].placed_bytes, 10 * MiB);
  EXPECT_EQ(all.of(0), 70 * MiB);
  expect_consistent(all);
}

TEST_F(modelled_promise, threads_that_promise_one_node_never_promise_more_than_it_has) {
  constexpr int threads = 4;
  model({128 * MiB, 400 * MiB}, 512 * MiB);
  modelled_promises all{512 * MiB};
  std::vector<std::thread> running;
  for (std::uint64_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      std::mt19937_64 random{t};
      for (std::uint64_t at = 0; at < 112 * MiB;) {
        const std::uint64_t bytes = std::min(112 * MiB - at, (1 + random() % 64) * 64 * KiB);
        (void)promise(in_order({0, 1}), all, t * 128 * MiB + at, bytes);
        if (random() % 4 == 0) all.settle(modelled_residence);
        at += bytes;
      }
    });
  for (std::thread& each : running) each.join();
  EXPECT_LE(all.of(0), 128 * MiB * 9 / 10);
  EXPECT_GE(all.of(0), 128 * MiB * 9 / 10 - 64 * KiB);
  EXPECT_EQ(all.of(0) + all.of(1), threads * 112 * MiB);
  expect_consistent(all);
}

}  // namespace
}  // namespace situ
