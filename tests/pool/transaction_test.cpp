// Transactions: all or nothing, within each other, beside each other, and where their process ends.
#include "pools.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "support/forked.h"

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct accounts {
  std::int64_t balance[64];
};

// A pool with an object that sums up to nothing.
struct bank {
  explicit bank(const std::string& path, situ::pool_promise promise = situ::pool_promise::process)
      : pool{situ::pool::create(path, {.most_bytes = 1 << 24, .promise = promise})},
        all{pool.transact([](transaction& t) {
          auto* const made = t.make<accounts>();
          t.set_root("accounts", made);
          return made;
        })} {}
  void move(int from, int to, int amount) {
    pool.transact([&](transaction& t) {
      t.set(all->balance[from], all->balance[from] - amount);
      t.set(all->balance[to], all->balance[to] + amount);
    });
  }
  situ::pool pool;
  accounts* all;
};

TEST(pool_transaction, that_throws_has_done_nothing) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1);
  item* const head = made.root<item>("head");
  EXPECT_THROW(made.transact([&](transaction& t) {
    t.change(head).value = 99;
    t.set(head->next, t.make<item>(98u, nullptr));
    t.set_root("head", t.make<item>(97u, head));
    t.set_root("other", head);
    t.destroy(head);
    throw std::runtime_error{"enough"};
  }),
               std::runtime_error);
  EXPECT_EQ(made.root<item>("head"), head);
  EXPECT_THAT(values_of(head), ElementsAre(1));
  EXPECT_EQ(made.root<item>("other"), nullptr);
  EXPECT_EQ(made.check().blocks, 1);
  push(made, 2);
  EXPECT_THAT(values_of(made.root<item>("head")), ElementsAre(2, 1));
}

TEST(pool_transaction, returns_what_its_body_returns) {
  const folder in;
  bank of{in.file()};
  EXPECT_EQ(of.pool.transact([](transaction&) { return 42; }), 42);
}

TEST(pool_transaction, that_is_destroyed_uncommitted_has_done_nothing) {
  const folder in;
  bank of{in.file()};
  {
    transaction t{of.pool};
    t.change(of.all).balance[3] = 5;
  }
  EXPECT_EQ(of.all->balance[3], 0);
  {
    transaction t{of.pool};
    t.change(of.all).balance[3] = 5;
    t.commit();
  }
  EXPECT_EQ(of.all->balance[3], 5);
}

TEST(pool_transaction, keeps_what_a_range_held_first) {
  const folder in;
  bank of{in.file()};
  try {
    of.pool.transact([&](transaction& t) {
      for (int value = 1; value < 30; ++value)
        for (int i = 0; i < 64; i += 7) t.set(of.all->balance[i], value);
      throw 1;
    });
  } catch (int) {}
  EXPECT_EQ(std::accumulate(std::begin(of.all->balance), std::end(of.all->balance), std::int64_t{0}), 0);
}

TEST(pool_transaction, without_changes_costs_no_transaction) {
  const folder in;
  bank of{in.file()};
  const std::uint64_t before = of.pool.info().transactions;
  of.pool.transact([](transaction&) {});
  EXPECT_EQ(of.pool.info().transactions, before);
}

TEST(pool_transaction, snapshots_nothing_outside_the_pool) {
  const folder in;
  bank of{in.file()};
  int outside = 0;
  of.pool.transact([&](transaction& t) {
    EXPECT_THAT(error_of(errc::bad_address, [&] { t.snapshot(&outside, 4); }), HasSubstr("do not lie in it"));
    const auto* const base = reinterpret_cast<const std::byte*>(of.pool.info().base);
    EXPECT_THAT(error_of(errc::bad_address, [&] { t.snapshot(base, 4); }), HasSubstr("do not lie in it"));
    EXPECT_THAT(error_of(errc::bad_address, [&] { t.snapshot(of.all, SIZE_MAX - 100); }), HasSubstr("do not lie"));
  });
}

// --- within each other ---

TEST(pool_transaction, within_another_is_taken_back_alone) {
  const folder in;
  {
    bank of{in.file()};
    of.pool.transact([&](transaction& outer) {
      outer.set(of.all->balance[0], 1);
      EXPECT_THROW(of.pool.transact([&](transaction& inner) {
        inner.set(of.all->balance[0], 2);
        inner.set(of.all->balance[1], 2);
        inner.set_root("inner", inner.make<item>(1u, nullptr));
        throw std::runtime_error{"inner"};
      }),
                   std::runtime_error);
      EXPECT_EQ(of.all->balance[0], 1);
      EXPECT_EQ(of.all->balance[1], 0);
      outer.set(of.all->balance[1], -1);
      of.pool.transact([&](transaction& inner) { inner.set(of.all->balance[2], 7); });
    });
    EXPECT_EQ(of.pool.check().blocks, 1);
  }
  const pool opened = pool::open(in.file());
  const accounts& found = *opened.root<accounts>("accounts");
  EXPECT_THAT((std::vector<std::int64_t>(found.balance, found.balance + 4)), ElementsAre(1, -1, 7, 0));
  EXPECT_EQ(opened.root<item>("inner"), nullptr);
}

TEST(pool_transaction, takes_back_what_is_complete_within_it) {
  const folder in;
  bank of{in.file()};
  try {
    of.pool.transact([&](transaction&) {
      of.move(0, 1, 10);
      push(of.pool, 1);
      throw 1;
    });
  } catch (int) {}
  EXPECT_EQ(of.all->balance[0], 0);
  EXPECT_EQ(of.all->balance[1], 0);
  EXPECT_EQ(of.pool.root<item>("head"), nullptr);
  EXPECT_EQ(of.pool.check().blocks, 1);
}

TEST(pool_transaction_death, an_outer_one_is_not_used_before_the_inner_one_has_ended) {
  const folder in;
  EXPECT_DEATH(
      {
        bank of{in.file()};
        transaction outer{of.pool};
        transaction inner{of.pool};
        outer.change(of.all);
      },
      "use the innermost transaction");
}

TEST(pool_transaction_death, a_pool_is_not_closed_within_one) {
  const folder in;
  EXPECT_DEATH(
      {
        auto of = std::make_unique<bank>(in.file());
        const transaction open{of->pool};
        of.reset();
      },
      "destroy transactions before their pool");
}

// --- long ones: the log goes on in the heap ---

TEST(pool_transaction, may_be_longer_than_the_log) {
  for (const bool is_complete : {false, true}) {
    const folder in;
    constexpr std::size_t count = 1 << 19;
    std::optional<pool> made = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 26});
    auto* const words = made->transact([](transaction& t) { return t.make_array<std::uint64_t>(count); });
    const std::uint64_t free = made->info().free_bytes;
    try {
      made->transact([&](transaction& t) {
        for (std::size_t i = 0; i < count; i += 512) {
          t.change(words + i, 512);
          for (std::size_t j = 0; j < 512; ++j) words[i + j] = i + j;
        }
        if (!is_complete) throw 1;
      });
    } catch (int) {}
    EXPECT_EQ(made->info().heap_bytes - made->info().free_bytes, count * 8) << "the log has given its chunks back";
    EXPECT_GE(made->info().free_bytes, free);
    made.reset();
    made = pool::open(in.file());
    bool is_right = true;
    for (std::size_t i = 0; i < count; ++i) is_right = is_right && words[i] == (is_complete ? i : 0);
    EXPECT_TRUE(is_right) << is_complete;
    EXPECT_EQ(made->check().blocks, 1);
  }
}

// --- beside each other ---

TEST(pool_transaction, of_threads_take_turns) {
  const folder in;
  bank of{in.file()};
  constexpr int rounds = 2000;
  std::atomic<int> inside{0};
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < rounds; ++i)
        of.pool.transact([&](transaction& t) {
          EXPECT_EQ(++inside, 1);
          t.set(of.all->balance[0], of.all->balance[0] + 1);
          t.set(of.all->balance[number + 1], of.all->balance[number + 1] - 1);
          --inside;
        });
    });
  threads.clear();
  EXPECT_EQ(of.all->balance[0], 4 * rounds);
  for (int number = 1; number <= 4; ++number) EXPECT_EQ(of.all->balance[number], -rounds);
}

// --- ended with their process ---

// Runs the body in a child that ends without another instruction.
template <class Body>
void in_child_that_ends(Body body) {
  const situ::os::exit_status end = situ::test::in_forked_child([&] {
    body();
    situ::test::kill_this_process();
  });
  ASSERT_EQ(end.signal, SIGKILL) << end.code;
}

void leave_incomplete(const std::string& path) {
  in_child_that_ends([&] {
    bank of{path};
    of.move(1, 2, 100);
    transaction t{of.pool};
    t.set(of.all->balance[1], 7);
    t.set(of.all->balance[1], 8);
    t.set_root("lost", t.make<item>(1u, nullptr));
    ::kill(::getpid(), SIGKILL);
  });
}

TEST(pool_recovery, takes_back_what_was_incomplete_and_says_so) {
  const folder in;
  ASSERT_NO_FATAL_FAILURE(leave_incomplete(in.file()));
  {
    const pool opened = pool::open(in.file());
    EXPECT_EQ(opened.info().restored_ranges, 2);
    EXPECT_EQ(opened.info().restored_bytes, 8 + 64);
    EXPECT_EQ(opened.root<accounts>("accounts")->balance[1], -100);
    EXPECT_EQ(opened.root<item>("lost"), nullptr);
    EXPECT_EQ(opened.check().blocks, 1);
    EXPECT_THAT(opened.check().damage, ElementsAre());
  }
  EXPECT_EQ(pool::open(in.file()).info().restored_ranges, 0);
}

TEST(pool_recovery, by_a_reader_leaves_the_file_as_it_is) {
  const folder in;
  ASSERT_NO_FATAL_FAILURE(leave_incomplete(in.file()));
  const std::vector<char> before = lasting_bytes_of(in.file());
  {
    const pool first = pool::open(in.file(), pool_access::read);
    EXPECT_EQ(first.root<accounts>("accounts")->balance[1], -100);
    EXPECT_EQ(first.root<item>("lost"), nullptr);
  }
  EXPECT_EQ(pool::open(in.file(), pool_access::read).info().restored_ranges, 2);
  EXPECT_EQ(lasting_bytes_of(in.file()), before);
}

TEST(pool_recovery, of_a_long_log_finds_its_parts) {
  const folder in;
  constexpr std::size_t count = 1 << 17;
  in_child_that_ends([&] {
    pool made = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 26});
    struct holder {
      std::uint64_t* words;
    };
    auto* const words = made.transact([](transaction& t) { return t.make_array<std::uint64_t>(count); });
    transaction t{made};
    for (std::size_t i = 0; i < count; i += 64) {
      t.change(words + i, 64);
      std::fill_n(words + i, 64, 1);
    }
    ::kill(::getpid(), SIGKILL);
  });
  const pool opened = pool::open(in.file());
  EXPECT_EQ(opened.info().restored_ranges, count / 64);
  opened.for_each_block([&](void* block, std::size_t) {
    EXPECT_EQ(std::accumulate(static_cast<std::uint64_t*>(block), static_cast<std::uint64_t*>(block) + count, 0ul), 0);
  });
}

// Killed at any instruction, again and again: what a complete transaction did is there, of the last one all or nothing.
TEST(pool_recovery, a_writer_that_is_killed_at_any_time_leaves_whole_transactions) {
  const folder in;
  struct ledger {
    std::uint64_t pushed;
    item* head;
  };
  { (void)pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 26}); }
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  std::uint64_t restored = 0;
  for (int round = 0; round < 60; ++round) {
    situ::os::child child = situ::test::fork_child([&] {
      std::mt19937 choices{seed + static_cast<std::uint32_t>(round)};
      pool opened = pool::open(in.file());
      for (;;)
        opened.transact([&](transaction& t) {
          auto* all = opened.root<ledger>("ledger");
          if (all == nullptr) t.set_root("ledger", all = t.make<ledger>());
          if (choices() % 3 != 0 || all->head == nullptr) {
            t.change(all);
            all->head = t.make<item>(++all->pushed, all->head);
          } else {
            t.change(all);
            item* const gone = all->head;
            all->head = gone->next;
            --all->pushed;
            t.destroy(gone);
          }
        });
    });
    std::this_thread::sleep_for(std::chrono::microseconds{500 + random() % 12000});
    child.send(SIGKILL);
    const situ::os::exit_status end = child.wait();
    ASSERT_NE(end.signal, 0) << end.code;
    const pool opened = pool::open(in.file());
    restored += opened.info().restored_ranges != 0 ? 1 : 0;
    ASSERT_THAT(opened.check().damage, ElementsAre());
    const auto* const all = opened.root<ledger>("ledger");
    if (all == nullptr) continue;
    std::uint64_t expected = all->pushed;
    for (const item* each = all->head; each != nullptr; each = each->next) ASSERT_EQ(each->value, expected--);
    ASSERT_EQ(expected, 0);
    ASSERT_EQ(opened.check().blocks, all->pushed + 1) << "nothing is leaked";
  }
  RecordProperty("rounds_with_an_incomplete_transaction", static_cast<int>(restored));
}

}  // namespace
