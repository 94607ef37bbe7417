// Allocation by intent: where blocks lie, and what happens where nothing has room. SITU_ORDERINGS names orderings.toml.

#include <situ/memory/placement.h>

#include <situ/base/error.h>
#include <situ/memory/allocator.h>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "memory/by_intent.h"
#include "support/forked.h"

namespace {

using namespace situ;
using namespace situ::test;

TEST(placement, a_small_block_lies_in_the_first_memory) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<int> block = allocate<int>(10, intent::bandwidth);
  block.local()[9] = 7;
  const memory_placement where = placement(block);
  EXPECT_EQ(where.intent, "bandwidth");
  EXPECT_EQ(where.parts, (std::vector<memory_part>{{"fast", 0, 48}}));
  EXPECT_EQ(where.untouched_bytes, 0u);
  deallocate(block);
}

TEST(placement, a_large_block_spills_into_the_next_memory) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(12 * mib, intent::bandwidth);
  std::memset(block.local(), 1, 12 * mib);
  const memory_placement where = placement(block);
  EXPECT_EQ(bytes_in(where, "fast"), 8 * mib);
  EXPECT_EQ(bytes_in(where, "slow"), 4 * mib);
  EXPECT_EQ(where.to_text(), "8 MiB in fast, 4 MiB in slow");
  deallocate(block);
  EXPECT_TRUE(places.segment(0).is_valid());
}

// What others see of it, as text: "bandwidth fast 8 of 8 MiB".
std::vector<std::string> shown_of(local_places& places) {
  const detail::placed_table& table = places.context(0).job->status(0).placed;
  std::vector<std::string> shown;
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const detail::placed_row& row = table.rows[i];
    shown.push_back(std::string{row.intent} + " " + row.memory + " " + std::to_string(row.bytes / mib) + " of " +
                    std::to_string(row.most / mib) + " MiB");
  }
  return shown;
}

TEST(placement, everybody_sees_what_a_place_has_where) {
  local_places places{1};
  const acting_as place{places.context(0)};
  EXPECT_EQ(shown_of(places), std::vector<std::string>{});
  const ptr<std::byte> block = allocate<std::byte>(12 * mib, intent::bandwidth);
  EXPECT_EQ(shown_of(places), (std::vector<std::string>{"bandwidth fast 8 of 8 MiB", "bandwidth slow 4 of 4 MiB"}));
  EXPECT_THROW((void)allocate<std::byte>(20 * mib, intent::bandwidth), error);
  deallocate(block);
  EXPECT_THROW((void)allocate<std::byte>(30 * mib, intent::bandwidth), error);  // gives back what is free first
  EXPECT_EQ(shown_of(places), (std::vector<std::string>{"bandwidth fast 0 of 8 MiB", "bandwidth slow 0 of 16 MiB"}));
}

TEST(placement, more_kinds_than_rows_are_told) {
  detail::placed_table table;
  for (std::uint32_t i = 0; i < detail::placed_table::most_rows; ++i)
    EXPECT_EQ(table.find_or_add("bandwidth", std::to_string(i)), &table.rows[i]);
  EXPECT_EQ(table.find_or_add("bandwidth", "3"), &table.rows[3]);
  EXPECT_EQ(table.is_full, 0);
  EXPECT_EQ(table.find_or_add("capacity", "3"), nullptr);
  EXPECT_EQ(table.is_full, 1);
  const std::string longest(100, 'x');
  detail::placed_table other;
  EXPECT_EQ(other.find_or_add("normal", longest), other.find_or_add("normal", longest));
}

TEST(placement, memories_take_turns) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(16 * mib, turns);
  const memory_placement where = placement(block);
  EXPECT_EQ(bytes_in(where, "slow"), 12 * mib);
  EXPECT_EQ(bytes_in(where, "fast"), 4 * mib);
}

TEST(placement, what_has_no_room_is_an_error_that_shows_the_fills) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> held = allocate<std::byte>(20 * mib, intent::bandwidth);
  try {
    (void)allocate<std::byte>(6 * mib, intent::bandwidth);
    FAIL() << "24 MiB hold no 26";
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::out_of_memory);
    const std::string text{bad.message()};
    EXPECT_NE(text.find("for the intent bandwidth: no memory of its ordering has room (fast > slow, by "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("100.0 %"), std::string::npos) << text;
    for (const char* const name : {"\n  fast (node 0) ", "\n  slow (node 0) "})  // each row by the memory's name
      EXPECT_NE(text.find(name), std::string::npos) << text;
  }
  EXPECT_TRUE(places.segment(0).is_valid());
  const ptr<std::byte> rest = allocate<std::byte>(4 * mib, intent::bandwidth);
  EXPECT_EQ(bytes_in(placement(rest), "slow"), 4 * mib) << "nothing was lost by the refusal";
  EXPECT_NO_THROW(deallocate(allocate<std::byte>(64 * mib))) << "who asks for nothing has no ordering";
  deallocate(held);
  deallocate(rest);
  EXPECT_EQ(bytes_in(placement(allocate<std::byte>(24 * mib, intent::bandwidth)), "fast"), 8 * mib);
}

TEST(placement, the_last_memory_takes_what_is_left_where_it_is_said_to) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(20 * mib, intent::capacity);
  EXPECT_EQ(bytes_in(placement(block), "slow"), 20 * mib) << "of 8 up to the threshold";
}

TEST(placement, an_intent_gives_up_what_it_keeps_for_another) {
  local_places places{1};
  const acting_as place{places.context(0)};
  deallocate(allocate<std::byte>(24 * mib, intent::bandwidth));
  const ptr<std::byte> block = allocate<std::byte>(16 * mib, turns);
  EXPECT_EQ(bytes_in(placement(block), "fast"), 4 * mib);
  EXPECT_TRUE(places.segment(0).is_valid());
}

TEST(placement, places_share_the_bytes_of_a_memory) {
  local_places places{2};
  ptr<std::byte> first;
  {
    const acting_as place{places.context(0)};
    first = allocate<std::byte>(6 * mib, intent::bandwidth);
    std::memset(first.local(), 5, 6 * mib);
  }
  const acting_as place{places.context(1)};
  const ptr<std::byte> second = allocate<std::byte>(6 * mib, intent::bandwidth);
  EXPECT_EQ(bytes_in(placement(second), "fast"), 2 * mib);
  EXPECT_EQ(bytes_in(placement(second), "slow"), 4 * mib);
  EXPECT_EQ(first.local()[6 * mib - 1], std::byte{5});
  EXPECT_THROW((void)placement(first), error) << "it is another place's";
  deallocate(first);  // goes back to its owner
  EXPECT_TRUE(places.segment(0).is_valid());
}

TEST(placement, the_kernel_says_where_other_blocks_are) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(4 * mib);
  EXPECT_EQ(placement(block).untouched_bytes, 4 * mib);
  std::memset(block.local(), 1, 2 * mib);
  const memory_placement where = placement(block);
  EXPECT_EQ(where.intent, "");
  ASSERT_EQ(where.parts.size(), 1u);
  EXPECT_GE(where.parts[0].bytes, 2 * mib);
  EXPECT_EQ(where.parts[0].bytes + where.untouched_bytes, 4 * mib);
  EXPECT_THROW((void)placement(ptr<std::byte>{block.local() + 1}), error);
}

TEST(placement, an_intent_that_nobody_has_ordered_goes_by_the_tree) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<double> block = allocate<double>(mib, intent{"checkpoint", intent::latency});
  const memory_placement where = placement(block);
  EXPECT_EQ(where.intent, "checkpoint");
  std::uint64_t sum = where.untouched_bytes;
  for (const memory_part& part : where.parts) sum += part.bytes;
  EXPECT_EQ(sum, 8 * mib);
  EXPECT_EQ(where.untouched_bytes, 0u) << "pages exist at once";
}

TEST(placement, containers_lie_in_the_memories_of_an_intent) {
  local_places places{1};
  const acting_as place{places.context(0)};
  using fast_vector = std::vector<int, intent_allocator<int>>;
  fast_vector first(1000, 1, intent::bandwidth);
  fast_vector second(1000, 2, intent::capacity);
  const auto lies_in = [](const auto& vector) { return placement(ptr<const int>{vector.data()}).parts.at(0).memory; };
  EXPECT_EQ(lies_in(first), "fast");
  EXPECT_EQ(lies_in(second), "slow");
  second.push_back(3);
  EXPECT_EQ(lies_in(second), "slow");
  first.swap(second);
  EXPECT_EQ(lies_in(first), "slow");
  second = std::move(first);
  second.resize(10'000);
  EXPECT_EQ(lies_in(second), "slow") << "the intent goes with the elements";

  std::pmr::vector<int> third(1000, 4, segment_resource(intent::capacity));
  EXPECT_EQ(lies_in(third), "slow");
  EXPECT_EQ(segment_resource(intent::capacity), segment_resource(intent::capacity));
  EXPECT_TRUE(*segment_resource(intent::capacity) == *segment_resource());
  EXPECT_FALSE(*segment_resource(intent::capacity) == *std::pmr::new_delete_resource());
}

TEST(placement, a_job_may_have_an_intent_for_all) {
  local_places places{1};
  const acting_as place{places.context(0)};
  places.segment(0).use_for_all(intent::bandwidth);
  const ptr<int> small = allocate<int>(10);
  const ptr<std::byte> large = allocate<std::byte>(6 * mib);
  const ptr<std::byte> huge = allocate<std::byte>(4 * mib, {.huge_pages = true});
  const ptr<int> other = allocate<int>(10, intent::capacity);
  EXPECT_EQ(placement(small).to_text(), "48 B in fast");
  EXPECT_EQ(placement(large).to_text(), "6 MiB in fast");
  EXPECT_EQ(placement(huge).to_text(), "4 MiB in slow");
  EXPECT_EQ(placement(other).to_text(), "48 B in slow");
  try {
    (void)allocate<std::byte>(64 * mib);
    FAIL() << "24 MiB hold no 64";
  } catch (const error& bad) {
    EXPECT_NE(std::string{bad.message()}.find("for the intent bandwidth"), std::string::npos) << bad.message();
  }
  for (const auto block : {large, huge}) deallocate(block);
  for (const auto block : {small, other}) deallocate(block);
  EXPECT_TRUE(places.segment(0).is_valid());
}

// --- first touch ---

constexpr placing on_touch{.populate = false};

TEST(first_touch, pages_come_where_the_ordering_has_them_and_count_from_the_start) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(12 * mib, intent::bandwidth, on_touch);
  EXPECT_EQ(placement(block).to_text(), "12 MiB untouched");
  EXPECT_EQ(placement(block).intent, "bandwidth");
  std::memset(block.local(), 1, 2 * mib);
  std::memset(block.local() + 9 * mib, 1, mib);
  const memory_placement where = placement(block);
  EXPECT_EQ(bytes_in(where, "fast"), 2 * mib);
  EXPECT_EQ(bytes_in(where, "slow"), mib);
  EXPECT_EQ(where.untouched_bytes, 9 * mib);
  EXPECT_THROW((void)allocate<std::byte>(14 * mib, intent::bandwidth), error) << "12 of 24 MiB are promised";
  EXPECT_THROW((void)allocate<std::byte>(14 * mib, intent::bandwidth, on_touch), error);
  deallocate(block);
  EXPECT_NO_THROW(deallocate(allocate<std::byte>(24 * mib, intent::bandwidth)));
  EXPECT_TRUE(places.segment(0).is_valid());
}

TEST(first_touch, small_blocks_and_containers_have_it_too) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> early = allocate<std::byte>(100, intent::bandwidth);
  const ptr<std::byte> late = allocate<std::byte>(100, intent::bandwidth, {.alignment = 64, .populate = false});
  EXPECT_EQ(late.address() % 64, 0u);
  EXPECT_EQ(placement(early).to_text(), "112 B in fast");
  EXPECT_EQ(placement(late).to_text(), "128 B untouched");
  late.local()[0] = std::byte{1};
  EXPECT_EQ(placement(late).to_text(), "128 B in fast");
  EXPECT_THROW((void)allocate<std::byte>(100, intent::bandwidth, {.alignment = 48}), error);

  std::vector<int, intent_allocator<int>> numbers{{intent::bandwidth, on_touch}};
  numbers.resize(100'000, 1);
  EXPECT_EQ(placement(ptr<int>{numbers.data()}).untouched_bytes, 0u) << "they have values";
  std::pmr::memory_resource* const resource = segment_resource(intent::bandwidth, on_touch);
  EXPECT_NE(resource, segment_resource(intent::bandwidth));
  void* const block = resource->allocate(mib);
  EXPECT_EQ(placement(ptr<std::byte>{static_cast<std::byte*>(block)}).untouched_bytes, mib);
  resource->deallocate(block, mib);
  deallocate(early);
  deallocate(late);
}

TEST(first_touch, what_is_promised_of_a_node_leaves_the_promise_by_touch_and_by_giving_back) {
  local_places places{2};
  detail::job_control& job = *places.context(0).job;
  const auto promised = [&job] { return job.promised.bytes[0].load(); };
  const auto settle = [&] {
    detail::segment_promises{job, places.slice(0), 1, places.context(0).heap_offset}.settle(
        detail::system_placement_calls().residence);
  };
  {
    const acting_as place{places.context(0)};
    const ptr<std::byte> block = allocate<std::byte>(64 * mib, node_0, on_touch);
    EXPECT_EQ(promised(), 64 * mib);
    EXPECT_EQ(placement(block).untouched_bytes, 64 * mib);
    std::memset(block.local() + mib, 1, 10 * mib);
    settle();  // as any other place would
    EXPECT_EQ(promised(), 54 * mib);
    EXPECT_EQ(job.slot(0).promised_bytes, 54 * mib);
    const memory_placement where = placement(block);
    ASSERT_EQ(where.parts.size(), 1u);
    EXPECT_EQ(where.parts[0].bytes, 10 * mib);
    deallocate(block);
  }
  const acting_as place{places.context(0)};
  deallocate(allocate<std::byte>(200 * mib, node_0, on_touch));
  deallocate(allocate<std::byte>(200 * mib, node_0, on_touch));
  EXPECT_LE(promised(), 96 * mib) << "what a heap keeps, it keeps promised";
  EXPECT_EQ(promised(), job.slot(0).promised_bytes);
}

TEST(first_touch, another_process_may_be_the_one_that_touches) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(4 * mib, node_0, on_touch);
  ASSERT_EQ(test::code_of(test::in_forked_child([&] { std::memset(block.local(), 7, mib); }, {.seconds = 20})), 0);
  const memory_placement where = placement(block);
  ASSERT_EQ(where.parts.size(), 1u);
  EXPECT_EQ(where.parts[0].bytes, mib);
  EXPECT_EQ(where.untouched_bytes, 3 * mib);
  EXPECT_EQ(block.local()[mib - 1], std::byte{7});
  deallocate(block);
}

}  // namespace
