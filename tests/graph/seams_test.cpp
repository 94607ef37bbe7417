// The seams of a machine without coherent places, as a model stands behind them (SITU_MODEL): this one has coherent
// memory, and only notes what it is told. What is handed over must have been written back before it is told of, and
// dropped before it is read.
#include "support/places.h"

#include <situ/base/detail/coherence.h>
#include <situ/fabric/detail/carry.h>
#include <situ/graph.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <numeric>
#include <vector>

#include "os/host.h"

namespace {

enum class act : std::uint8_t { write_back, invalidate, flush, carry, dma, write_back_all, invalidate_all };
struct event {
  act what;
  std::uint32_t place;  // that called
  std::uintptr_t at = 0;
  std::size_t bytes = 0;
};

std::mutex events_mutex;
std::vector<event> events;

void note(act what, const void* at = nullptr, std::size_t bytes = 0) {
  const situ::detail::place_context* const context = situ::detail::current;
  const std::lock_guard lock{events_mutex};
  events.push_back({what, context->place, reinterpret_cast<std::uintptr_t>(at), bytes});
}

}  // namespace

extern "C" {
void situ_model_write_back(const void* at, std::size_t bytes) noexcept { note(act::write_back, at, bytes); }
void situ_model_write_back_all() noexcept { note(act::write_back_all); }
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept { note(act::invalidate, at, bytes); }
void situ_model_flush(const void* at, std::size_t bytes) noexcept { note(act::flush, at, bytes); }
void situ_model_flush_all() noexcept { note(act::invalidate_all); }
void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept {
  note(act::carry, header, target);
  header->store(value);
  if (sleeping->exchange(0) != 0) situ::detail::wake_on_word(*sleeping, INT_MAX);
}
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept {
  note(act::dma, from, bytes);
  std::memcpy(to, from, bytes);
}
}

namespace situ {
namespace {

std::size_t now() {
  const std::lock_guard lock{events_mutex};
  return events.size();
}
// The first event from `since` on of this kind whose range covers the given one, called by `place`; npos if none.
constexpr std::size_t npos = ~std::size_t{0};
std::size_t find(std::size_t since, act what, std::uint32_t place, const void* at = nullptr, std::size_t bytes = 0) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  const std::lock_guard lock{events_mutex};
  for (std::size_t i = since; i < events.size(); ++i) {
    const event& e = events[i];
    if (e.what == what && e.place == place && (at == nullptr || (e.at <= wanted && wanted + bytes <= e.at + e.bytes)))
      return i;
  }
  return npos;
}
std::size_t find_carry(std::size_t since, std::uint32_t from, std::uint32_t to) {
  const std::lock_guard lock{events_mutex};
  for (std::size_t i = since; i < events.size(); ++i)
    if (events[i].what == act::carry && events[i].place == from && events[i].bytes == to) return i;
  return npos;
}

struct item {
  item* next;
  std::uint64_t value;
};
std::uint64_t sum(const item* head) {
  std::uint64_t total = 0;
  for (; head != nullptr; head = head->next) total += head->value;
  return total;
}

class seams : public test::on_places {};

TEST_P(seams, put_writes_back_and_get_invalidates) {
  run([] {
    const ptr<double> mine = allocate<double>(100);
    const std::vector<ptr<double>> all = all_gather(mine);
    if (here().index() == 0) {
      double values[100] = {1.5};
      const std::size_t before = now();
      put(all[1], values, 100);
      EXPECT_NE(find(before, act::write_back, 0, all[1].local(), sizeof values), npos);
      get(values, all[1] + 10, 20);
      EXPECT_NE(find(before, act::flush, 0, (all[1] + 10).local(), 20 * sizeof(double)), npos);
      put_strided<double, 2>(all[1], {10, 1}, values, {10, 1}, {3, 4});
      for (int row = 0; row < 3; ++row)
        EXPECT_NE(find(before, act::write_back, 0, (all[1] + row * 10).local(), 4 * sizeof(double)), npos);
    }
    barrier();
    deallocate(mine);
  });
}

TEST_P(seams, words_that_order_write_back_all_and_invalidate_all) {
  run([] {
    const ptr<signal> mine = allocate_signals();
    const std::vector<ptr<signal>> all = all_gather(mine);
    const std::size_t before = now();
    const std::uint32_t self = here().index();
    if (self == 0) {
      send_signal(all[1], 7);
      EXPECT_NE(find(before, act::write_back_all, self), npos);
    } else {
      EXPECT_EQ(wait_until(mine, 7), 7U);
      EXPECT_NE(find(before, act::invalidate_all, self), npos);
    }
    barrier();
    deallocate(mine);
  });
}

TEST_P(seams, message_is_written_back_before_it_is_carried) {
  run([] {
    if (here().index() == 0) {
      const std::size_t before = now();
      EXPECT_EQ(at(
                    place{1}, [](const std::vector<std::uint64_t>& v) { return v.size(); },
                    std::vector<std::uint64_t>(500, 3)),
                500U);
      const std::size_t carried = find_carry(before, 0, 1);
      ASSERT_NE(carried, npos);
      const std::lock_guard lock{events_mutex};
      const auto covers = [&](std::size_t from, std::size_t to, act what, std::uint32_t place, std::size_t bytes) {
        return std::any_of(events.begin() + from, events.begin() + to,
                           [&](const event& e) { return e.what == what && e.place == place && e.bytes >= bytes; });
      };
      EXPECT_TRUE(covers(before, carried, act::write_back, 0, 500 * 8));         // the record
      EXPECT_TRUE(covers(before, carried, act::write_back, 0, 64));              // the cell
      EXPECT_TRUE(covers(carried, events.size(), act::invalidate, 1, 500 * 8));  // at the receiver
      EXPECT_EQ(events[carried - 1].what, act::write_back_all);
    }
    barrier();
  });
}

TEST_P(seams, large_parcel_is_fetched_and_given_back_by_message) {
  run([] {
    const std::uint64_t live = memory_statistics().live_blocks;
    barrier();
    if (here().index() == 0) {
      const std::size_t before = now();
      std::vector<std::uint64_t> large(100'000);
      std::iota(large.begin(), large.end(), std::uint64_t{0});
      EXPECT_EQ(
          at(place{1}, [](const std::vector<std::uint64_t>& v) { return v[99'999] + v.size(); }, large), 199'999U);
      const std::size_t fetched = find(before, act::dma, 1);
      ASSERT_NE(fetched, npos);
      EXPECT_LT(find(before, act::write_back, 0, reinterpret_cast<void*>(events[fetched].at), events[fetched].bytes),
                fetched);
      while (memory_statistics().live_blocks != live) progress();  // its buffer comes back
    }
    barrier();
    EXPECT_EQ(memory_statistics().live_blocks, live);
    barrier();
  });
}

// The sender walks the graph of a pull and writes each object back (Pegasus's step 1); an agent that measures does it.
template <transfer How>
void expect_graph_handed_over() {
  constexpr std::size_t count = 50;
  const ptr<item> mine = allocate<item>(count);
  item* const items = mine.local();
  for (std::size_t i = 0; i < count; ++i) items[i] = {i + 1 < count ? &items[i + 1] : nullptr, i};
  barrier();
  if (here().index() == 0) {
    const std::size_t before = now();
    EXPECT_EQ(at(via(place{1}, How), [](item* l) { return sum(l); }, items), count * (count - 1) / 2);
    const std::size_t carried = find_carry(before, 0, 1);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (How == transfer::pull) {
        EXPECT_LT(find(before, act::write_back, 0, &items[i], sizeof(item)), carried) << i;
        EXPECT_GT(find(before, act::flush, 1, &items[i], sizeof(item)), carried) << i;
        EXPECT_NE(find(before, act::flush, 1, &items[i], sizeof(item)), npos) << i;
      } else {
        EXPECT_LT(find(before, act::write_back, 0, &items[i], sizeof(item)), carried) << i;  // by its agent's thread
      }
    }
  }
  barrier();
  deallocate(mine);
}
TEST_P(seams, graph_of_a_pull_is_written_back_and_invalidated) { run(&expect_graph_handed_over<transfer::pull>); }
TEST_P(seams, graph_of_an_offload_is_written_back) { run(&expect_graph_handed_over<transfer::offload>); }

TEST_P(seams, blocks_share_no_line) {
  run([] {
    const ptr<char> one = allocate<char>();
    const ptr<char> other = allocate<char>();
    EXPECT_EQ(one.address() % 64, 0U);
    EXPECT_EQ(other.address() % 64, 0U);
    EXPECT_NE(one.address(), other.address());
    deallocate(one);
    deallocate(other);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, seams, testing::Values(test::layout{launch_mode::threads, 2}), test::layout_name);

}  // namespace
}  // namespace situ
