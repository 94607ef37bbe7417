// One pool, several processes: nothing is lost and nothing leaks, whoever is killed at whatever moment; who reads in a
// section sees whole transactions; who waits learns for whom.
#include "pool/sharing.h"
#include "pools.h"
#include "processes.h"

#include <situ/base/log.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr int owners = 4;
// What each of several processes does with a pool: a list of its own of blocks of many sizes, some of which it takes
// back, and a count that all of them add to.
struct block {
  std::uint64_t words;
  block* next;
  std::uint64_t first;  // and the last of its words: its own number
};
struct shop {
  std::uint64_t rounds[owners];
  block* blocks[owners];
  std::uint64_t live[owners];
  std::uint64_t all;  // of rounds
};

shop& shop_of(pool& in) { return *in.root<shop>("shop"); }

block* take(transaction& t, std::uint64_t words, std::uint64_t number, block* next) {
  auto* const made = static_cast<block*>(t.allocate(sizeof(block) + words * 8, 16));
  *made = {words, next, number};
  std::uint64_t* const after = reinterpret_cast<std::uint64_t*>(made + 1);
  std::fill_n(after, words, number);
  return made;
}

void work(pool& in, int owner, std::mt19937& random) {
  in.transact([&](transaction& t) {
    shop& all = t.change(&shop_of(in));
    ++all.rounds[owner];
    ++all.all;
    for (unsigned i = random() % 4; i != 0; --i) {
      const std::uint64_t words = random() % 12 == 0 ? 3000 + random() % 6000 : random() % 60;
      all.blocks[owner] = take(t, words, all.rounds[owner], all.blocks[owner]);
      ++all.live[owner];
    }
    while (all.live[owner] > 40 || (all.live[owner] != 0 && random() % 3 == 0)) {
      block* const gone = all.blocks[owner];
      all.blocks[owner] = gone->next;
      --all.live[owner];
      t.destroy(gone);
    }
    if (random() % 10 == 0) throw 1;
  });
}

void expect_sound(pool& found) {
  EXPECT_THAT(found.check().damage, ElementsAre());
  const shop& all = shop_of(found);
  std::uint64_t blocks = 1;
  for (int owner = 0; owner < owners; ++owner) {
    std::uint64_t live = 0;
    for (const block* each = all.blocks[owner]; each != nullptr; each = each->next, ++live) {
      const auto* const words = reinterpret_cast<const std::uint64_t*>(each + 1);
      for (std::uint64_t i = 0; i < each->words; ++i) ASSERT_EQ(words[i], each->first);
    }
    EXPECT_EQ(live, all.live[owner]);
    blocks += live;
  }
  EXPECT_EQ(found.check().blocks, blocks) << "nothing is leaked";
  EXPECT_EQ(std::accumulate(all.rounds, all.rounds + owners, std::uint64_t{0}), all.all);
}

class pool_sharing : public testing::Test {
 protected:
  pool_sharing() : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {
    pool made = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 28});
    made.transact([](transaction& t) { t.set_root("shop", t.make<shop>()); });
  }
  ~pool_sharing() override { situ::set_log_sink(sink_); }
  folder in;
  situ::log_sink sink_;
};

// --- writers ---

TEST_F(pool_sharing, writers_in_several_processes_lose_nothing) {
  constexpr int rounds = 1500;
  std::vector<process> all;
  common<std::array<std::atomic<std::uint64_t>, owners>> completed;
  for (int owner = 0; owner < owners; ++owner)
    all.emplace_back([&, owner] {
      std::mt19937 random{static_cast<std::uint32_t>(owner + 1)};
      pool opened = pool::open(in.file());
      for (int i = 0; i < rounds; ++i) {
        try {
          work(opened, owner, random);
          ++(*completed)[static_cast<std::size_t>(owner)];
        } catch (int) {}
      }
      return opened.check().damage.empty();
    });
  for (process& each : all) EXPECT_TRUE(each.wait());
  pool found = pool::open(in.file());
  expect_sound(found);
  for (int owner = 0; owner < owners; ++owner)
    EXPECT_EQ(shop_of(found).rounds[owner], (*completed)[static_cast<std::size_t>(owner)]);
}

// Killed at any instruction, again and again, while the others go on. What a process knows to be complete is there.
TEST_F(pool_sharing, writers_that_are_killed_take_nothing_with_them) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  common<std::array<std::atomic<std::uint64_t>, owners>> completed;
  std::uint32_t started = 0;
  const auto start = [&](int owner) {
    const std::uint32_t number = ++started;
    return std::make_unique<process>([&, owner, number]() -> bool {
      std::mt19937 choices{seed + number};
      pool opened = pool::open(in.file());
      for (;;) {
        try {
          work(opened, owner, choices);
          (*completed)[static_cast<std::size_t>(owner)].store(shop_of(opened).rounds[owner]);
        } catch (int) {}
      }
    });
  };
  pool beside = pool::open(in.file());  // it has the pool open all the time
  std::vector<std::unique_ptr<process>> all;
  for (int owner = 1; owner < owners; ++owner) all.push_back(start(owner));
  for (int round = 0; round < 60; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds{500 + random() % 20000});
    const int owner = 1 + static_cast<int>(random() % (owners - 1));
    auto& victim = all[static_cast<std::size_t>(owner - 1)];
    victim->kill();
    const std::uint64_t known = (*completed)[static_cast<std::size_t>(owner)];
    const std::uint64_t there = beside.read([&] { return shop_of(beside).rounds[owner]; });
    ASSERT_GE(there, known) << "nothing is lost";
    ASSERT_LE(there, known + 1);
    (*completed)[static_cast<std::size_t>(owner)] = there;
    try {
      work(beside, 0, random);
    } catch (int) {}
    victim = start(owner);
  }
  for (const auto& each : all) each->kill();
  expect_sound(beside);
}

TEST_F(pool_sharing, one_that_was_opened_before_the_heap_grew_uses_all_of_it) {
  pool first = pool::open(in.file());
  process other{[&] {
    pool opened = pool::open(in.file());
    opened.transact([&](transaction& t) {
      struct area {
        std::uint64_t words[1 << 19];
      };
      t.set_root("large", t.make<area>());
    });
    return true;
  }};
  ASSERT_TRUE(other.wait());
  EXPECT_GE(first.info().heap_bytes, 4 << 20);
  EXPECT_EQ(first.check().blocks, 2);
  std::mt19937 random{7};
  for (int i = 0; i < 200; ++i) {
    try {
      work(first, 0, random);
    } catch (int) {}
  }
  first.transact([&](transaction& t) { t.destroy(reinterpret_cast<void*>(first.root<shop>("shop")->blocks[1])); });
  EXPECT_THAT(first.check().damage, ElementsAre());
}

// --- readers ---

struct ledger {
  std::int64_t balance[512];
};

TEST_F(pool_sharing, a_section_sees_whole_transactions_while_others_write) {
  common<std::atomic<int>> readers_done;
  pool opened = pool::open(in.file());
  opened.transact([&](transaction& t) { t.set_root("ledger", t.make<ledger>()); });
  const auto move_until_read = [&](pool& by, std::uint32_t seed) {
    std::mt19937 random{seed};
    auto* const all = by.root<ledger>("ledger");
    while (*readers_done != 3) {
      by.transact([&](transaction& t) {
        const std::size_t from = random() % 512;
        const std::size_t to = random() % 512;
        t.set(all->balance[from], all->balance[from] - 1);
        t.set(all->balance[to], all->balance[to] + 1);
        if (all->balance[0] % 64 == 0) t.set_root("head", t.make<item>(1u, by.root<item>("head")));
      });
    }
    return true;
  };
  const auto read_often = [&](const pool& by) {
    std::int64_t sums = 0;
    for (int i = 0; i < 2000; ++i) {
      by.read([&] {
        const ledger& all = *by.root<ledger>("ledger");
        sums += std::abs(std::accumulate(all.balance, all.balance + 512, std::int64_t{0}));
      });
    }
    ++*readers_done;
    return sums == 0;
  };
  process reader{[&] { return read_often(pool::open(in.file(), pool_access::read)); }};
  process writing_reader{[&] { return read_often(pool::open(in.file())); }};
  process writer{[&] {
    pool by = pool::open(in.file());
    return move_until_read(by, 1);
  }};
  std::jthread writing{[&] { EXPECT_TRUE(move_until_read(opened, 2)); }};
  EXPECT_TRUE(read_often(opened));
  EXPECT_TRUE(reader.wait());
  EXPECT_TRUE(writing_reader.wait());
  EXPECT_TRUE(writer.wait());
}

TEST_F(pool_sharing, a_reader_beside_a_writer_follows_it) {
  common<std::atomic<int>> step;
  process writer{[&] {
    pool by = pool::open(in.file());
    ++*step;
    if (!comes_true([&] { return *step == 2; })) return false;
    push(by, 1);
    by.transact([&](transaction& t) {
      auto* const all = t.make_array<item>(1 << 18);
      all[(1 << 18) - 1].value = 5;
      t.set_root("array", all);
    });
    ++*step;
    return comes_true([&] { return *step == 4; });
  }};
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  const pool reader = pool::open(in.file(), pool_access::read);
  EXPECT_TRUE(reader.info().is_shared);
  EXPECT_EQ(reader.root<item>("head"), nullptr);
  ++*step;
  ASSERT_TRUE(comes_true([&] { return *step == 3; }));
  EXPECT_THAT(values_of(reader.root<item>("head")), ElementsAre(1));
  EXPECT_EQ(reader.root<item>("array")[(1 << 18) - 1].value, 5);
  EXPECT_EQ(reader.check().blocks, 3);
  EXPECT_THAT(reader.check().damage, ElementsAre());
  EXPECT_GE(reader.info().heap_bytes, 4 << 20);
  ++*step;
  EXPECT_TRUE(writer.wait());
}

TEST_F(pool_sharing, sections_lie_within_each_other_and_within_transactions) {
  pool opened = pool::open(in.file());
  EXPECT_EQ(opened.read([&] { return opened.read([&] { return opened.root<shop>("shop")->all; }); }), 0);
  opened.transact([&](transaction& t) {
    opened.read([&] { t.set(shop_of(opened).all, 1u); });
    EXPECT_EQ(opened.read([&] { return shop_of(opened).all; }), 1);
  });
  EXPECT_EQ(opened.read([&] { return opened.info().roots.size() + opened.check().blocks; }), 2);
  push(opened, 1);
}

TEST_F(pool_sharing, threads_read_and_write) {
  pool opened = pool::open(in.file());
  opened.transact([&](transaction& t) { t.set_root("ledger", t.make<ledger>()); });
  auto* const all = opened.root<ledger>("ledger");
  std::atomic<int> writing{2};
  std::vector<std::jthread> threads;
  for (int number = 0; number < 2; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < 3000; ++i)
        opened.transact([&](transaction& t) {
          ledger& to = t.change(all);
          to.balance[i % 256] += number + 1;
          to.balance[i % 256 + 256] -= number + 1;
        });
      --writing;
    });
  for (int number = 0; number < 2; ++number)
    threads.emplace_back([&] {
      while (writing != 0)
        opened.read([&] {
          EXPECT_EQ(std::accumulate(all->balance, all->balance + 512, std::int64_t{0}), 0);
          EXPECT_EQ(opened.root<ledger>("ledger"), all);
        });
    });
}

// Their slots lie between those of the others, and come while these write.
TEST_F(pool_sharing, several_threads_of_several_processes_read_beside_those_who_write) {
  constexpr int rounds = 400;
  std::vector<process> all;
  for (int owner = 0; owner < owners; ++owner)
    all.emplace_back([&, owner] {
      std::mt19937 random{static_cast<std::uint32_t>(owner + 1)};
      pool opened = pool::open(in.file());
      const shop& seen = shop_of(opened);
      std::atomic<bool> is_over{false}, is_right{true};
      std::vector<std::jthread> readers;
      for (int i = 0; i < rounds; ++i) {
        if (i % 40 == 0)
          readers.emplace_back([&] {
            while (!is_over)
              opened.read([&] {
                if (std::accumulate(seen.rounds, seen.rounds + owners, std::uint64_t{0}) != seen.all) is_right = false;
              });
          });
        try {
          work(opened, owner, random);
        } catch (int) {}
      }
      is_over = true;
      readers.clear();
      return is_right && opened.check().damage.empty();
    });
  for (process& each : all) EXPECT_TRUE(each.wait());
  pool found = pool::open(in.file());
  expect_sound(found);
}

TEST_F(pool_sharing, threads_that_read_leave_room_for_processes) {
  pool opened = pool::open(in.file());
  std::vector<std::jthread> readers;
  for (int i = 0; i < 40; ++i) readers.emplace_back([&] { opened.read([] {}); });
  readers.clear();
  common<std::atomic<int>> opened_by;
  std::vector<process> all;
  for (int i = 0; i < 90; ++i)
    all.emplace_back([&] {
      const pool by = pool::open(in.file());
      ++*opened_by;
      // Ninety that look each 100 us would leave those that are to come no time.
      return comes_true([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        return *opened_by == 90;
      });
    });
  for (process& each : all) EXPECT_TRUE(each.wait());
}

TEST(pool_sharing_death, a_transaction_does_not_begin_within_a_section) {
  const folder in;
  EXPECT_DEATH(
      {
        pool made = pool::create(in.file(), small);
        made.read([&] { push(made, 1); });
      },
      "end the read section before the transaction");
}

// --- who is killed ---

// Opens the pool, begins a transaction that changes the list, and ends without another instruction.
process killed_in_a_transaction(const std::string& path) {
  return process{[&]() -> bool {
    pool by = pool::open(path);
    push(by, 1);
    transaction t{by};
    t.set(by.root<item>("head")->value, 99u);
    t.set_root("head", t.make<item>(98u, by.root<item>("head")));
    ::kill(::getpid(), SIGKILL);
    return false;
  }};
}

TEST_F(pool_sharing, what_one_left_incomplete_is_taken_back_by_the_next) {
  pool beside = pool::open(in.file());
  EXPECT_FALSE(killed_in_a_transaction(in.file()).wait());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(beside.read([&] { return values_of(beside.root<item>("head")); }), ElementsAre(1));
  push(beside, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{1});
  EXPECT_THAT(values_of(beside.root<item>("head")), ElementsAre(2, 1));
  EXPECT_EQ(beside.check().blocks, 3);
}

TEST_F(pool_sharing, a_reader_takes_it_back_in_pages_of_its_own_until_a_writer_has) {
  const pool reader = pool::open(in.file(), pool_access::read);
  EXPECT_FALSE(killed_in_a_transaction(in.file()).wait());
  const std::vector<char> left = lasting_bytes_of(in.file());
  EXPECT_THAT(reader.read([&] { return values_of(reader.root<item>("head")); }), ElementsAre(1));
  EXPECT_THAT(values_of(reader.root<item>("head")), ElementsAre(1));
  EXPECT_EQ(reader.check().blocks, 2);
  EXPECT_EQ(lasting_bytes_of(in.file()), left);
  // One that comes later does the same; then somebody writes.
  process other{[&] {
    return values_of(pool::open(in.file(), pool_access::read).root<item>("head")) == std::vector<std::uint64_t>{1};
  }};
  EXPECT_TRUE(other.wait());
  process writer{[&] {
    pool by = pool::open(in.file());
    push(by, 2);
    return true;
  }};
  EXPECT_TRUE(writer.wait());
  EXPECT_THAT(reader.read([&] { return values_of(reader.root<item>("head")); }), ElementsAre(2, 1));
  EXPECT_EQ(reader.check().blocks, 3);
}

TEST_F(pool_sharing, one_that_is_killed_while_it_reads_holds_up_nobody) {
  pool beside = pool::open(in.file());
  common<std::atomic<bool>> reads;
  process reader{[&] {
    const pool by = pool::open(in.file(), pool_access::read);
    const situ::read_section within{by};
    reads->store(true);
    for (;;) ::pause();
    return true;
  }};
  ASSERT_TRUE(comes_true([&] { return reads->load(); }));
  reader.kill();
  const auto begun = std::chrono::steady_clock::now();
  push(beside, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{1});
}

// A child has the files of its parent, and so keeps the locks by which others see that it lives.
TEST_F(pool_sharing, one_that_leaves_a_child_behind_is_known_to_be_dead) {
  pool beside = pool::open(in.file());
  common<std::atomic<pid_t>> left;
  process parent{[&]() -> bool {
    pool by = pool::open(in.file());
    push(by, 1);
    transaction t{by};
    t.set(by.root<item>("head")->value, 99u);
    left->store(leave_a_sleeper());
    situ::test::kill_this_process();
  }};
  EXPECT_FALSE(parent.wait());
  const auto begun = std::chrono::steady_clock::now();
  push(beside, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{1});
  EXPECT_THAT(values_of(beside.root<item>("head")), ElementsAre(2, 1));
  ::kill(*left, SIGKILL);
}

// --- who waits ---

TEST_F(pool_sharing, who_waits_too_long_learns_for_whom) {
  using namespace std::chrono_literals;
  common<std::atomic<int>> step;
  process holder{[&] {
    pool by = pool::open(in.file());
    {
      const transaction t{by};
      ++*step;
      if (!comes_true([&] { return *step == 2; })) return false;
    }
    const situ::read_section within{by};
    ++*step;
    return comes_true([&] { return *step == 4; });
  }};
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file(), situ::pool_opening{.patience = 20ms}); }),
              HasSubstr("process " + std::to_string(holder.number())));
  ++*step;
  pool waiting = pool::open(in.file(), situ::pool_opening{.patience = 20ms});
  ASSERT_TRUE(comes_true([&] { return *step == 3; }));
  EXPECT_THAT(error_of(errc::bad_file, [&] { push(waiting, 1); }),
              testing::AllOf(HasSubstr("process " + std::to_string(holder.number())), HasSubstr("reads it"),
                             HasSubstr("patience")));
  ++*step;
  EXPECT_TRUE(holder.wait());
  push(waiting, 1);
  EXPECT_THAT(values_of(waiting.root<item>("head")), ElementsAre(1));
}

TEST_F(pool_sharing, nobody_waits_for_ever_beside_one_that_writes_all_the_time) {
  common<std::atomic<bool>> is_enough;
  const auto write_on = [&] {
    pool by = pool::open(in.file());
    while (!*is_enough) by.transact([&](transaction& t) { t.set(shop_of(by).all, shop_of(by).all + 1); });
    return true;
  };
  process first{write_on};
  process second{write_on};
  pool third = pool::open(in.file());
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 50; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    push(third, 1);
    third.read([&] { return shop_of(third).all; });
    longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - begun);
  }
  is_enough->store(true);
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_LT(longest, std::chrono::seconds{5});
  RecordProperty("longest_microseconds", static_cast<int>(longest.count() / 1000));
}

// --- who may come in ---

TEST_F(pool_sharing, one_that_wants_it_alone_is_told_of_others) {
  std::optional<pool> alone = pool::open(in.file(), pool_access::exclusive);
  EXPECT_FALSE(alone->info().is_shared);
  push(*alone, 1);
  for (const pool_access access : {pool_access::write, pool_access::read, pool_access::exclusive}) {
    process other{[&] {
      return error_of(errc::bad_file, [&] { (void)pool::open(in.file(), access); }).find("is in use") !=
             std::string::npos;
    }};
    EXPECT_TRUE(other.wait()) << static_cast<int>(access);
  }
  alone.reset();
  const pool shared = pool::open(in.file());
  process other{[&] {
    return error_of(errc::bad_file, [&] {
             (void)pool::open(in.file(), pool_access::exclusive);
           }).find("others have it") != std::string::npos;
  }};
  EXPECT_TRUE(other.wait());
}

TEST_F(pool_sharing, one_with_a_redo_log_is_its_writers_alone) {
  const std::string path = in.file("batched");
  const pool writer = pool::create(path, {.most_bytes = 1 << 24, .promise = situ::pool_promise::batched});
  EXPECT_FALSE(writer.info().is_shared);
  for (const pool_access access : {pool_access::write, pool_access::read}) {
    process other{[&] {
      const std::string said = error_of(errc::bad_file, [&] { (void)pool::open(path, access); });
      const char* const why = access == pool_access::write ? "its promise is pool_promise::batched" : "open alone";
      return said.find("is in use") != std::string::npos && said.find(why) != std::string::npos &&
             said.find("or share it") == std::string::npos;
    }};
    EXPECT_TRUE(other.wait()) << static_cast<int>(access);
  }
}

TEST_F(pool_sharing, what_stays_of_a_lock_in_the_file_means_nothing_to_the_first_opener) {
  std::vector<char> bytes = bytes_of(in.file());
  std::mt19937 random{5};
  for (std::uint64_t i = 0; i < situ::detail::pool_area_bytes; ++i)
    bytes[situ::detail::pool_area_offset + i] = static_cast<char>(random());
  write_bytes(in.file(), bytes);
  {
    pool opened = pool::open(in.file());
    push(opened, 1);
    EXPECT_THAT(opened.check().damage, ElementsAre());
  }
  bytes = bytes_of(in.file());
  EXPECT_EQ(bytes, lasting_bytes_of(in.file())) << "the last one clears it";
}

TEST_F(pool_sharing, a_copy_made_in_a_transaction_is_a_pool_of_its_own) {
  std::optional<pool> opened = pool::open(in.file());
  push(*opened, 1);
  {
    transaction t{*opened};
    t.set(opened->root<item>("head")->value, 99u);
    write_bytes(in.file("copy"), bytes_of(in.file()));
  }
  opened.reset();
  pool copy = pool::open(in.file("copy"));
  EXPECT_EQ(copy.info().restored_ranges, 1);
  EXPECT_THAT(values_of(copy.root<item>("head")), ElementsAre(1));
}

TEST_F(pool_sharing, more_can_share_it_than_there_are_processors) {
  common<std::atomic<int>> opened_by;
  common<std::atomic<bool>> is_enough;
  std::vector<process> all;
  for (int i = 0; i < 24; ++i)
    all.emplace_back([&] {
      pool by = pool::open(in.file());
      ++*opened_by;
      for (int j = 0; j < 20; ++j) push(by, 1);
      return comes_true([&] { return is_enough->load(); });
    });
  ASSERT_TRUE(comes_true([&] { return *opened_by == 24; }));
  is_enough->store(true);
  for (process& each : all) EXPECT_TRUE(each.wait());
  EXPECT_EQ(values_of(pool::open(in.file()).root<item>("head")).size(), 24 * 20);
}

}  // namespace
