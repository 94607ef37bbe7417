// Stores that no snapshot keeps are found where they are made.
#include "pools.h"

#include <situ/base/log.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_string.h>
#include <situ/pool/pool_vector.h>

#include <cstring>
#include <random>
#include <thread>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::transaction;
using testing::AllOf;
using testing::HasSubstr;

namespace {

struct accounts {
  std::uint64_t balance[64];
  std::uint64_t spare[1000];
};
constexpr situ::pool_options checked{.most_bytes = std::uint64_t{1} << 24, .object_checks = true, .checked = true};

class pool_write_check : public testing::Test {
 protected:
  pool_write_check() {
    made_.transact([&](transaction& t) { t.set_root("all", t.make<accounts>()); });
  }
  ~pool_write_check() override { EXPECT_THAT(made_.check().damage, testing::SizeIs(objects_that_changed_)); }
  accounts& all() { return *made_.root<accounts>("all"); }
  static std::string line(int number) { return "write_check_test.cpp:" + std::to_string(number); }

  const folder in_;
  pool made_ = pool::create(in_.file(), checked);
  std::size_t objects_that_changed_ = 0;  // outside of transactions, whose stores stay
};

int stored_at = 0;
[[gnu::noinline]] void store(std::uint64_t& to, std::uint64_t value) {
  stored_at = __LINE__ + 1;
  *const_cast<volatile std::uint64_t*>(&to) = value;
}

TEST_F(pool_write_check, finds_the_line_of_a_store_without_a_snapshot) {
  const std::string told = error_of(errc::bad_argument, [&] {
    made_.transact([&](transaction& t) {
      t.set(all().balance[1], 5u);
      store(all().balance[2], 6);
    });
  });
  EXPECT_THAT(
      told, AllOf(HasSubstr("1 stores of a transaction"), HasSubstr(line(stored_at)), HasSubstr("16 into the object")));
  EXPECT_EQ(all().balance[1], 0) << "the transaction is taken back";
  EXPECT_EQ(all().balance[2], 0) << "and with it what was stored beside it";
}

TEST_F(pool_write_check, lets_be_what_is_right) {
  made_.transact([&](transaction& t) {
    t.change(&all());
    store(all().balance[2], 6);
    std::memset(all().spare, 1, sizeof all().spare);
    auto* const more = t.make_array<accounts>(3);
    for (int i = 0; i < 3; ++i) store(more[i].balance[7], 7);
    std::memcpy(&more[1], &all(), sizeof(accounts));
    made_.transact([&](transaction& inner) { inner.set(all().balance[3], 9u); });
    store(all().balance[4], 10);
    t.destroy(more);
  });
  EXPECT_EQ(all().balance[2] + all().balance[3] + all().balance[4], 25);
  EXPECT_THAT(made_.check().damage, testing::IsEmpty());
}

TEST_F(pool_write_check, an_inner_transaction_needs_snapshots_of_its_own) {
  made_.transact([&](transaction& t) {
    t.change(&all());
    store(all().balance[0], 1);
    EXPECT_THAT(
        error_of(errc::bad_argument, [&] { made_.transact([&](transaction&) { store(all().balance[0], 2); }); }),
        HasSubstr(line(stored_at)));
    EXPECT_EQ(all().balance[0], 1);
  });
  EXPECT_EQ(all().balance[0], 1);
}

TEST_F(pool_write_check, finds_what_a_library_function_stores) {
  const int from = __LINE__ + 3;
  const std::string told = error_of(errc::bad_argument, [&] {
    made_.transact([&](transaction&) {
      std::memset(static_cast<void*>(all().spare), static_cast<int>(in_.file().size()), sizeof all().spare);
    });
  });
  EXPECT_THAT(told, HasSubstr(line(from)));
  EXPECT_EQ(all().spare[0], 0);
}

TEST_F(pool_write_check, brings_back_a_store_before_its_snapshot) {
  EXPECT_THROW(made_.transact([&](transaction& t) {
    store(all().balance[5], 1);
    t.set(all().balance[5], 2u);
  }),
               situ::error);
  EXPECT_EQ(all().balance[5], 0);
  made_.transact([&](transaction& t) { t.set(all().balance[5], 3u); });
  EXPECT_EQ(all().balance[5], 3);
}

TEST_F(pool_write_check, finds_stores_outside_of_transactions) {
  store(all().balance[9], 1);
  std::thread{[&] { store(all().balance[10], 1); }}.join();
  EXPECT_THAT(error_of(errc::bad_argument, [&] { made_.transact([](transaction&) {}); }),
              AllOf(HasSubstr("2 stores outside a transaction"), HasSubstr(line(stored_at))));
  made_.transact([&](transaction& t) { t.set(all().balance[9], 3u); });
  objects_that_changed_ = 1;
  std::string logged;
  const situ::log_sink before = situ::set_log_sink([&](situ::log_level, std::string_view text) { logged = text; });
  {
    pool other = pool::create(in_.file("other.pool"), checked);
    item* const one = other.transact([](transaction& t) { return t.make<item>(1u, nullptr); });
    store(one->value, 2);
  }
  situ::set_log_sink(before);
  EXPECT_THAT(logged, HasSubstr(line(stored_at)));
}

// Each store of the containers is kept by a snapshot, in whatever state they are.
struct containers {
  situ::pool_vector<situ::pool_string> texts;
  situ::pool_map<std::uint64_t, std::uint64_t> hashed;
  situ::pool_map<situ::pool_string, std::uint64_t> by_name;
  situ::pool_ordered_map<std::uint64_t, situ::pool_string> ordered;
};

TEST_F(pool_write_check, finds_nothing_in_the_containers) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  made_.transact([](transaction& t) { t.set_root("containers", t.make<containers>()); });
  containers& c = *made_.root<containers>("containers");
  made_.transact([&](transaction& t) {
    for (std::uint64_t key = 1000; key < 1500; ++key) (void)c.hashed.insert(t, key, key);  // several segments
  });
  for (int round = 0; round < 80; ++round)
    made_.transact([&](transaction& t) {
      for (int i = 0; i < 6; ++i) {
        const std::uint64_t key = random() % 700;
        const std::string text = std::string(key % 30, 't') + std::to_string(key);
        if (random() % 3 == 0) {
          (void)c.hashed.erase(t, key);
          (void)c.by_name.erase(t, text);
          (void)c.ordered.erase(t, key);
          if (c.texts.size() > 4) c.texts.erase(t, c.texts.size() - 1 - key % 4);
        } else {
          (void)c.hashed.set(t, key, key);
          (void)c.by_name.set(t, text, key);
          c.ordered.emplace(t, key).first->assign(t, text);
          c.texts.emplace_back(t).append(t, text);
        }
      }
    });
  EXPECT_GT(c.hashed.size(), 600);
  made_.transact([&](transaction& t) { situ::detail::release_parts(t, c); });
  struct node {
    node* next;
  };
  node last{nullptr}, first{&last};
  EXPECT_NE(made_.persist("nodes", first)->next, nullptr);
  EXPECT_EQ((made_.collect<accounts, containers, node>().kept_blocks), 4);
}

}  // namespace
