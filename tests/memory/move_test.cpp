// Blocks that move between memories, races for the last of a memory, and both against a model. SITU_ORDERINGS names
// orderings.toml: fast has 8 MiB, slow 16.

#include <situ/memory/move.h>

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "memory/by_intent.h"
#include "pages/page_file.h"
#include "support/forked.h"

namespace {

using namespace situ;
using namespace situ::test;

constexpr intent slow_first{"slow_first"};
constexpr placing on_touch{.populate = false};

// What budgets have as used: "fast" first.
struct used_bytes {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  friend bool operator==(const used_bytes&, const used_bytes&) = default;
};
used_bytes used(const detail::job_control& job) {
  used_bytes found;
  for (const detail::shared_budget& each : job.budgets) {
    if (each.budget.bytes == 8 * mib) found.fast = each.budget.used;
    if (each.budget.bytes == 16 * mib) found.slow = each.budget.used;
  }
  return found;
}

TEST(move, takes_a_block_to_other_memories_and_leaves_its_address_and_values) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> block = allocate<std::byte>(6 * mib, intent::bandwidth);
  std::memset(block.local(), 7, 6 * mib);
  EXPECT_EQ(used(*places.context(0).job), (used_bytes{6 * mib, 0}));
  const move_report done = move_block(block, slow_first);
  EXPECT_EQ(done.moved_bytes, 6 * mib);
  EXPECT_EQ(done.held_bytes, 0u);
  EXPECT_EQ(done.to_text(), "6 MiB moved; now 6 MiB in slow");
  EXPECT_EQ(placement(block).intent, "slow_first");
  EXPECT_EQ(used(*places.context(0).job), (used_bytes{0, 6 * mib}));
  for (std::size_t i = 0; i < 6 * mib; i += 4096) ASSERT_EQ(block.local()[i], std::byte{7});

  EXPECT_EQ(move_block(block, slow_first).moved_bytes, 0u) << "it lies right";
  EXPECT_EQ(move_block(block, intent::bandwidth).moved_bytes, 6 * mib);
  EXPECT_EQ(used(*places.context(0).job), (used_bytes{6 * mib, 0}));
  (void)move_block(block, slow_first);
  deallocate(block);
  const used_bytes after = used(*places.context(0).job);
  EXPECT_EQ(after.slow, 0u);
  EXPECT_LE(after.fast, 6 * mib) << "what the arena keeps";
  EXPECT_EQ(bytes_in(placement(allocate<std::byte>(8 * mib, intent::bandwidth)), "fast"), 8 * mib);
  EXPECT_TRUE(places.segment(0).is_valid());
}

TEST(move, works_for_blocks_without_an_intent_and_for_pages_that_nobody_has_touched) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> before = allocate<std::byte>(100'000);
  const ptr<std::byte> block = allocate<std::byte>(3 * mib + 5000);  // amid others, by no means aligned
  std::memset(block.local(), 5, 2 * mib);
  const move_report done = move_block(block, intent::bandwidth);
  EXPECT_EQ(done.now.intent, "bandwidth");
  EXPECT_GE(bytes_in(done.now, "fast"), 2 * mib - 8192) << "by pages";
  EXPECT_EQ(bytes_in(done.now, "fast") + done.now.untouched_bytes, 3 * mib + 5000);
  EXPECT_EQ(used(*places.context(0).job).fast, 3 * mib + 16384);
  EXPECT_EQ(block.local()[mib], std::byte{5});
  deallocate(block);
  EXPECT_EQ(used(*places.context(0).job).fast, 0u);
  EXPECT_TRUE(places.segment(0).is_valid());
  deallocate(before);

  const ptr<std::byte> late = allocate<std::byte>(6 * mib, intent::bandwidth, on_touch);
  EXPECT_EQ(move_block(late, slow_first).now.to_text(), "6 MiB untouched");
  std::memset(late.local(), 1, 6 * mib);
  EXPECT_EQ(placement(late).to_text(), "6 MiB in slow");
  const ptr<std::byte> by_node = allocate<std::byte>(6 * mib, node_0, on_touch);
  EXPECT_EQ(places.context(0).job->promised.bytes[0], 6 * mib);
  (void)move_block(by_node, slow_first);
  EXPECT_EQ(places.context(0).job->promised.bytes[0], 0u);
  deallocate(by_node);
  deallocate(late);
}

// Large blocks are whole chunks of 16 KiB, and end anywhere in 64 KiB.
TEST(move, leaves_the_promises_of_neighbours_alone) {
  constexpr std::size_t bytes = 112 << 10;
  local_places places{1, 64 * mib};
  const acting_as place{places.context(0)};
  const std::atomic<std::uint64_t>& promised = places.context(0).job->promised.bytes[0];
  const std::atomic<std::uint64_t>& open = places.context(0).job->slot(0).promised_bytes;
  const ptr<std::byte> kept = allocate<std::byte>(bytes, node_0, on_touch);
  for (int round = 0; round < 3; ++round) {
    const ptr<std::byte> first = allocate<std::byte>(bytes, node_0, on_touch);
    const ptr<std::byte> second = allocate<std::byte>(bytes, node_0, on_touch);
    ASSERT_EQ(second.local(), first.local() + bytes) << "neighbours";
    ASSERT_EQ(promised, 2 * mib);
    (void)move_block(first, slow_first);
    EXPECT_EQ(promised, 2 * mib - bytes) << "its own, and no neighbour's";
    (void)move_block(second, slow_first);
    EXPECT_EQ(promised, 2 * mib - 2 * bytes);
    deallocate(first);
    deallocate(second);
    EXPECT_EQ(promised, 2 * mib) << "as before";
    EXPECT_EQ(open, promised);
  }
  deallocate(kept);
  EXPECT_THROW((void)allocate<std::byte>(200 * mib, intent::bandwidth), error);  // gives back what is kept
  EXPECT_EQ(promised, 0u);
  EXPECT_EQ(open, 0u);
}

int policy_at(void* address) {
  int mode = -1;
  return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, address, MPOL_F_ADDR) == 0 ? mode : -1;
}

TEST(move, what_is_given_back_comes_from_the_node_of_the_job_again) {
  local_places places{1, 64 * mib};
  const acting_as place{places.context(0)};
  void* const heap = reinterpret_cast<void*>(places.heap(0));
  places.job().control().memory_node = 0;
  detail::prefer_node_for_file(0, heap, 32 * mib);
  if (policy_at(heap) != MPOL_PREFERRED) GTEST_SKIP() << "this kernel has no policies";
  const ptr<std::byte> moved = allocate<std::byte>(100'000);
  (void)move_block(moved, slow_first);
  deallocate(moved);
  EXPECT_EQ(policy_at(moved.local()), MPOL_PREFERRED);
  const ptr<std::byte> placed = allocate<std::byte>(6 * mib, intent::bandwidth);
  deallocate(placed);
  EXPECT_THROW((void)allocate<std::byte>(30 * mib, intent::bandwidth), error);  // gives back what is kept
  EXPECT_EQ(used(*places.context(0).job), used_bytes{});
  EXPECT_EQ(policy_at(placed.local()), MPOL_PREFERRED);
}

TEST(move, without_room_leaves_everything_as_it_was) {
  local_places places{1};
  const acting_as place{places.context(0)};
  const ptr<std::byte> held = allocate<std::byte>(14 * mib, slow_first);
  const ptr<std::byte> block = allocate<std::byte>(6 * mib, intent::bandwidth);
  std::memset(block.local(), 9, 6 * mib);
  const used_bytes before = used(*places.context(0).job);
  try {
    (void)move_block(block, intent{"only_slow"});
    FAIL() << "2 MiB of slow are left";
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::out_of_memory);
    EXPECT_NE(std::string{bad.message()}.find("The block lies where it lay"), std::string::npos) << bad.message();
  }
  EXPECT_EQ(used(*places.context(0).job), before);
  EXPECT_EQ(placement(block).to_text(), "6 MiB in fast");
  EXPECT_EQ(block.local()[5 * mib], std::byte{9});
  EXPECT_EQ(move_block(block, slow_first).now.to_text(), "2 MiB in slow, 4 MiB in fast")
      << "what fits, then the next memory";
  EXPECT_THROW((void)move_block(block, intent{"only_slow"}), error);
  EXPECT_EQ(placement(block).to_text(), "2 MiB in slow, 4 MiB in fast");
  deallocate(block);
  deallocate(held);
}

TEST(move, refuses_what_shares_its_pages_and_what_is_no_block_of_this_place) {
  local_places places{2};
  const acting_as place{places.context(0)};
  const ptr<int> small = allocate<int>(10);
  try {
    (void)move_block(small, intent::bandwidth);
    FAIL();
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::bad_argument);
    EXPECT_NE(std::string{bad.message()}.find("shares its pages"), std::string::npos) << bad.message();
  }
  EXPECT_THROW((void)move_block(ptr<int>{small.local() + 1}, intent::bandwidth), error);
  const acting_as other{places.context(1)};
  EXPECT_THROW((void)move_block(allocate<std::byte>(mib) + 16, intent::bandwidth), error);
  EXPECT_THROW((void)move_block(small, intent::bandwidth), error);
}

TEST(move, refuses_what_shares_a_reserved_huge_page) {
  local_places places{1};
  const acting_as place{places.context(0)};
  places.job().control().file_unit = 2 * mib;
  const ptr<std::byte> part = allocate<std::byte>(mib, intent::bandwidth);
  EXPECT_THROW((void)move_block(part, slow_first), error);
  const ptr<std::byte> whole{static_cast<std::byte*>(places.segment(0).allocate(4 * mib, 2 * mib))};
  EXPECT_EQ(move_block(whole, slow_first).now.untouched_bytes, 4 * mib);
}

TEST(placement, kinds_of_memory_that_cannot_be_placed_say_so) {
  local_places places{1};
  const acting_as place{places.context(0)};
  places.job().control().places_by_intent = false;
  for (const auto kind : {memory_kind::source::file, memory_kind::source::device}) {
    places.job().control().file_kind = kind;
    try {
      (void)allocate<std::byte>(mib, intent::bandwidth);
      FAIL();
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::not_supported);
      const std::string name = kind == memory_kind::source::file ? "in a file" : "of a device";
      EXPECT_NE(std::string{bad.message()}.find("memory " + name), std::string::npos) << bad.message();
    }
  }
}

TEST(move, a_block_that_another_place_gives_back_leaves_its_memory) {
  local_places places{2};
  ptr<std::byte> block;
  {
    const acting_as place{places.context(0)};
    block = allocate<std::byte>(6 * mib, intent::bandwidth);
    (void)move_block(block, slow_first);
  }
  {
    const acting_as place{places.context(1)};
    deallocate(block);
  }
  EXPECT_EQ(used(*places.context(0).job).slow, 6 * mib) << "its owner does not know yet";
  places.segment(0).drain();
  EXPECT_EQ(used(*places.context(0).job).slow, 0u);
  EXPECT_TRUE(places.segment(0).is_valid());
}

// --- races ---

// Both processes take 2 MiB at a time until there is no more, eagerly or not, and give all back, over and over.
void race(local_places& places, std::uint32_t index, int rounds, std::atomic<int>& refused) {
  const acting_as place{places.context(index)};
  std::mt19937_64 random{index + 1};
  std::vector<ptr<std::byte>> blocks;
  for (int round = 0; round < rounds; ++round) {
    for (;;) {
      try {
        const std::size_t bytes = (1 + random() % 2) * 2 * mib;
        blocks.push_back(random() % 8 == 0 ? allocate<std::byte>(bytes, intent::bandwidth)
                                           : allocate<std::byte>(bytes, intent::bandwidth, on_touch));
        if (random() % 4 == 0) blocks.back().local()[random() % bytes] = std::byte{1};
        if (random() % 16 == 0) (void)move_block(blocks.back(), slow_first);
      } catch (const error& bad) {
        if (bad.code() != errc::out_of_memory) ::_exit(3);
        ++refused;
        break;
      }
      const used_bytes now = used(*places.context(index).job);
      if (now.fast > 8 * mib || now.slow > 16 * mib) ::_exit(4);
    }
    for (const ptr<std::byte> block : blocks) deallocate(block);
    blocks.clear();
  }
}

TEST(placement_race, two_processes_that_race_for_the_last_of_a_memory_both_go_by_the_ordering) {
  constexpr int rounds = 1000;
  local_places places{2, 256 * mib};
  auto* const refused =
      static_cast<std::atomic<int>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(refused, MAP_FAILED);
  std::vector<os::child> racing;
  for (std::uint32_t i = 0; i < 2; ++i)
    racing.push_back(test::fork_child(
        [&] {
          race(places, i, rounds, *refused);
          // What a heap keeps goes back when another intent needs all of it.
          const acting_as place{places.context(i)};
          try {
            (void)allocate<std::byte>(512 * mib, intent::bandwidth);
          } catch (const error&) {}
          return 0;
        },
        {.seconds = 60}));
  for (os::child& each : racing) EXPECT_EQ(test::code_of(each.wait()), 0) << "3: another error, 4: a budget was passed";
  EXPECT_GE(*refused, 2 * rounds);
  EXPECT_EQ(used(*places.context(0).job), used_bytes{}) << "all of it has come back";
  ::munmap(refused, 4096);
}

// --- against a model ---

class placement_model : public testing::TestWithParam<unsigned> {};

TEST_P(placement_model, allocate_touch_move_and_free_agree_with_sums) {
  struct content {
    std::size_t bytes;
    unsigned char fill;
    bool is_touched;
    bool has_intent;
  };
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random{GetParam()};
  local_places places{1, 64 * mib};
  const acting_as place{places.context(0)};
  const intent intents[] = {intent::bandwidth, slow_first, turns, intent{"only_slow"}, node_0};
  std::map<std::byte*, content> model;
  int refused = 0;
  int moved = 0;
  const auto check = [&](std::byte* at, const content& is) {
    if (is.is_touched)
      for (std::size_t i = 0; i < is.bytes; i += 4096) ASSERT_EQ(at[i], std::byte{is.fill});
  };
  for (int step = 0; step < 400; ++step) {
    const auto any = [&] {
      auto found = model.begin();
      std::advance(found, static_cast<std::ptrdiff_t>(random() % model.size()));
      return found;
    };
    const auto choice = random() % 10;
    if (model.empty() || choice < 4) {
      const content is{(1 + random() % 300) * 16'000, static_cast<unsigned char>(random()), random() % 2 == 0,
                       random() % 4 != 0};
      try {
        const ptr<std::byte> block =
            is.has_intent
                ? allocate<std::byte>(is.bytes, intents[random() % std::size(intents)], {.populate = random() % 2 == 0})
                : allocate<std::byte>(is.bytes);
        if (is.is_touched) std::memset(block.local(), is.fill, is.bytes);
        ASSERT_TRUE(model.emplace(block.local(), is).second) << "step " << step;
      } catch (const error& bad) {
        ASSERT_EQ(bad.code(), errc::out_of_memory) << bad.message();
        ++refused;
      }
    } else if (choice < 7) {
      const auto [at, is] = *any();
      try {
        const move_report done = move_block(ptr<std::byte>{at}, intents[random() % std::size(intents)]);
        ++moved;
        std::uint64_t sum = done.now.untouched_bytes;
        for (const memory_part& part : done.now.parts) sum += part.bytes;
        ASSERT_LT(sum, is.bytes + 4096) << "step " << step;
        ASSERT_GE(sum + 4 * 4096, is.bytes) << "step " << step;
      } catch (const error& bad) {
        const bool is_small = is.bytes <= 65536;
        ASSERT_EQ(bad.code(), is_small ? errc::bad_argument : errc::out_of_memory) << bad.message();
        ++refused;
      }
      check(at, is);
    } else {
      const auto victim = any();
      check(victim->first, victim->second);
      deallocate(ptr<std::byte>{victim->first});
      model.erase(victim);
    }
    if (step % 100 == 0) ASSERT_TRUE(places.segment(0).is_valid()) << "step " << step;
    const used_bytes now = used(*places.context(0).job);
    ASSERT_LE(now.fast + now.slow, 24 * mib + 4 * mib) << "step " << step;
    ASSERT_LT(now.fast, std::uint64_t{1} << 40) << "below 0 at step " << step;
    ASSERT_LT(now.slow, std::uint64_t{1} << 40) << "below 0 at step " << step;
  }
  for (const auto& [at, is] : model) {
    check(at, is);
    deallocate(ptr<std::byte>{at});
  }
  EXPECT_THROW((void)allocate<std::byte>(200 * mib, intent::bandwidth), error);  // gives back what is kept
  EXPECT_EQ(used(*places.context(0).job), used_bytes{});
  EXPECT_EQ(places.context(0).job->promised.bytes[0], 0u);
  EXPECT_EQ(places.context(0).job->slot(0).promised_bytes, 0u);
  EXPECT_TRUE(places.segment(0).is_valid());
  EXPECT_GT(refused, 0);
  EXPECT_GT(moved, 0);
}

INSTANTIATE_TEST_SUITE_P(seeds, placement_model, testing::Values(1, 2, 3, 4));

}  // namespace
