// Pools whose objects have checks: what transactions leave is right, what has changed otherwise is found.
#include "pool/object_checks.h"
#include "fuzz/pool_image.h"
#include "pool/format.h"
#include "pool/pool_tools.h"
#include "pools.h"
#include "support/forked.h"
#include "support/places.h"

#include <situ/base/log.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_string.h>
#include <situ/pool/pool_vector.h>

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

using namespace situ_pool_test;
using namespace situ::detail;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::pool_promise;
using situ::transaction;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct large_object {
  std::uint64_t words[1000];
  item* first;
};
constexpr situ::pool_options with_checks(pool_promise promise = pool_promise::process) {
  return {.most_bytes = std::uint64_t{1} << 24, .promise = promise, .object_checks = true};
}

std::string name_of(pool_promise promise) {
  constexpr const char* names[] = {"process", "machine", "batched"};
  return names[static_cast<int>(promise)];
}

class object_checks_of : public testing::TestWithParam<pool_promise> {
 protected:
  // What a reader finds, elsewhere included.
  static std::string found_in(const pool& of) {
    const situ::pool_findings found = of.check();
    EXPECT_EQ(found.checked_blocks, found.blocks);
    return found.damage.empty() ? "" : found.damage.front();
  }
  folder in;
};
INSTANTIATE_TEST_SUITE_P(promises, object_checks_of,
                         testing::Values(pool_promise::process, pool_promise::machine, pool_promise::batched),
                         [](const auto& info) { return std::string{name_of(info.param)}; });

TEST_P(object_checks_of, a_pool_are_right_after_each_transaction) {
  const std::uint64_t seed = situ::test::test_seed();
  std::mt19937_64 random{seed};
  pool made = pool::create(in.file(), with_checks(GetParam()));
  EXPECT_TRUE(made.info().has_object_checks);
  EXPECT_EQ(made.info().version, 3);
  struct block {
    std::byte* at;
    std::size_t bytes;
  };
  std::vector<block> blocks;
  for (int round = 0; round < 120; ++round) {
    std::vector<block> after = blocks;
    try {
      made.transact([&](transaction& t) {
        for (std::uint64_t changes = random() % 9; changes != 0; --changes) {
          if (after.empty() || random() % 4 == 0) {
            const std::size_t bytes = 1 + random() % (random() % 8 == 0 ? 100000 : 600);
            auto* const at = static_cast<std::byte*>(t.allocate(bytes, 8));
            std::memset(at, static_cast<int>(random()), bytes);
            after.push_back({at, bytes});
          } else if (const std::size_t which = random() % after.size(); random() % 6 == 0) {
            t.destroy(after[which].at);
            after.erase(after.begin() + static_cast<std::ptrdiff_t>(which));
          } else {
            // Ranges that overlap, also of levels that are taken back.
            const auto change = [&](transaction& by) {
              for (int times = 0; times < 3; ++times) {
                const std::size_t from = random() % after[which].bytes;
                const std::size_t bytes = 1 + random() % std::min<std::size_t>(after[which].bytes - from, 900);
                by.snapshot(after[which].at + from, bytes);
                std::memset(after[which].at + from, static_cast<int>(random()), bytes);
              }
            };
            change(t);
            if (random() % 3 == 0) {
              transaction inner{made};
              change(inner);
              if (random() % 2 == 0) inner.commit();
            }
          }
        }
        if (random() % 5 == 0) throw 1;
      });
      blocks = after;
    } catch (int) {}
    ASSERT_EQ(found_in(made), "") << "round " << round << ", seed " << seed;
  }
  EXPECT_GT(blocks.size(), 10);
  const std::size_t kept = made.check().blocks;
  EXPECT_EQ(kept, blocks.size());
  { const pool gone = std::move(made); }
  EXPECT_EQ(found_in(pool::open(in.file())), "") << "checkpoints bring checks where they belong as well";
  (void)compact_pool(in.file());
  (void)copy_pool(in.file(), in.file("copy"), false);
  const pool copy = pool::open(in.file("copy"), pool_access::read);
  EXPECT_EQ(found_in(copy), "");
  EXPECT_EQ(copy.check().checked_blocks, kept);
}

// What is asked for is the caller's, to its last byte: checks lie behind it.
TEST_P(object_checks_of, a_pool_lie_behind_blocks_of_any_size) {
  pool made = pool::create(in.file(), with_checks(GetParam()));
  std::vector<std::pair<std::byte*, std::size_t>> blocks;
  made.transact([&](transaction& t) {
    for (const std::size_t bytes :
         {1, 16, 48, 1000, 1024, 16384 - 8, 16384, 65536, 65537, 81920 - 8, 81920 - 7, 81920, 163840})
      for (int i = 0; i < (bytes == 16 ? 2000 : 3); ++i) {
        blocks.emplace_back(static_cast<std::byte*>(t.allocate(bytes, 16)), bytes);
        std::memset(blocks.back().first, 0xa5, bytes);
      }
  });
  for (const auto& [at, bytes] : blocks) {
    ASSERT_TRUE(std::all_of(at, at + bytes, [](std::byte each) { return each == std::byte{0xa5}; })) << bytes;
  }
  EXPECT_EQ(found_in(made), "");
  EXPECT_EQ(made.check().blocks, blocks.size());
}

// --- what has changed otherwise ---

class object_that_changed : public testing::Test {
 protected:
  object_that_changed() {
    pool made = pool::create(in.file(), with_checks());
    made.transact([&](transaction& t) {
      auto* const small_one = t.make<item>(7u, nullptr);
      auto* const large = t.make<large_object>();
      large->first = small_one;
      large->words[999] = 5;
      t.set_root("small", small_one);
      t.set_root("large", large);
    });
    for (const auto& root : made.info().roots) offset_of[root.name] = root.offset;
    sound = bytes_of(in.file());
  }
  void flip(std::uint64_t offset, int bit = 3) {
    std::vector<char> bytes = bytes_of(in.file());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1 << bit);
    write_bytes(in.file(), bytes);
  }
  std::vector<std::string> damage() { return pool::open(in.file(), pool_access::read).check().damage; }
  std::vector<std::string> damage_by_type() {
    return pool::open(in.file(), pool_access::read).check<item, large_object>().damage;
  }

  folder in;
  std::map<std::string, std::uint64_t> offset_of;
  std::vector<char> sound;
};

TEST_F(object_that_changed, is_found_in_each_of_its_bits_and_named) {
  const std::uint64_t at = offset_of["small"];
  for (std::uint64_t bit = 0; bit < 8 * sizeof(item); ++bit) {
    write_bytes(in.file(), sound);
    flip(at + bit / 8, static_cast<int>(bit % 8));
    const auto found = damage();
    ASSERT_EQ(found.size(), 1);
    EXPECT_THAT(found[0],
                AllOf(HasSubstr("byte " + std::to_string(at) + ": an object, root 'small'"),
                      HasSubstr("bit " + std::to_string(bit % 8) + " of byte " + std::to_string(at + bit / 8)),
                      HasSubstr("situ pool repair")));
  }
  EXPECT_THAT(damage_by_type().front(), HasSubstr("situ_pool_test::item, root 'small', in a block of 16 bytes"));
}

TEST_F(object_that_changed, is_found_where_pages_are_lost_or_lie_elsewhere) {
  const std::uint64_t page = offset_of["large"] / 4096 * 4096 + 4096;
  std::vector<char> bytes = sound;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), 4096, 0);
  write_bytes(in.file(), bytes);
  EXPECT_THAT(damage(),
              ElementsAre(AllOf(HasSubstr("'large'"), HasSubstr("more than a bit"), HasSubstr("from a copy"))));
  // Two chunks of a slab each, with their checks, in each other's place: their heads are put right, as if by repair.
  {
    pool made = pool::create(in.file("chunks"), with_checks());
    made.transact([&](transaction& t) {
      for (int i = 0; i < 1200; ++i) (void)t.make<item>(1u, nullptr);
    });
  }
  bytes = bytes_of(in.file("chunks"));
  const auto heap = static_cast<std::ptrdiff_t>(pool_heap_offset(with_checks().most_bytes));
  const auto chunk = static_cast<std::ptrdiff_t>(chunk_bytes);
  std::swap_ranges(bytes.begin() + heap + 192, bytes.begin() + heap + chunk, bytes.begin() + heap + chunk + 192);
  write_bytes(in.file("chunks"), bytes);
  EXPECT_EQ(pool::open(in.file("chunks"), pool_access::read).check().damage.size(), 1200);
}

TEST_F(object_that_changed, is_changed_by_no_transaction_where_it_is_short) {
  flip(offset_of["small"]);
  pool opened = pool::open(in.file());
  auto* const damaged = opened.root<item>("small");
  EXPECT_EQ(damaged->value, 15);
  const std::string refused = error_of(errc::bad_file, [&] {
    opened.transact([&](transaction& t) {
      t.set_root("other", t.make<item>(1u, nullptr));
      t.set(damaged->value, 9u);
    });
  });
  EXPECT_THAT(refused, AllOf(HasSubstr(in.file()), HasSubstr("byte " + std::to_string(offset_of["small"])),
                             HasSubstr("bit 3"), HasSubstr("taken back")));
  EXPECT_EQ(damaged->value, 15);
  EXPECT_EQ(opened.root<item>("other"), nullptr);
  push(opened, 3);
  EXPECT_EQ(opened.check().damage.size(), 1) << "others go on";
  opened.transact([&](transaction& t) {
    auto* const anew = t.make<item>(7u, nullptr);
    t.set(opened.root<large_object>("large")->first, anew);
    t.set_root("small", anew);
    t.destroy(damaged);
  });
  EXPECT_THAT(opened.check().damage, ElementsAre());
}

TEST_F(object_that_changed, is_found_after_transactions_have_changed_it_where_it_is_long) {
  flip(offset_of["large"] + 100);
  {
    pool opened = pool::open(in.file());
    auto* const all = opened.root<large_object>("large");
    opened.transact([&](transaction& t) { t.set(all->words[500], 1u); });
    opened.transact([&](transaction& t) {
      t.change(all->words + 10, 20)[0] = 4;  // the bit is among them
    });
  }
  EXPECT_THAT(damage_by_type(), ElementsAre(HasSubstr("large_object, root 'large'")));
}

TEST_F(object_that_changed, by_a_store_without_a_snapshot_is_found_at_its_next_change) {
  pool opened = pool::open(in.file());
  auto* const object = opened.root<item>("small");
  object->value = 8;
  EXPECT_THAT(opened.check().damage.front(), HasSubstr("more than a bit"));
  EXPECT_THAT(error_of(errc::bad_file, [&] { opened.transact([&](transaction& t) { t.set(object->value, 9u); }); }),
              HasSubstr("is not what transactions have left"));
  object->value = 7;
  opened.transact([&](transaction& t) { t.set(object->value, 9u); });
  EXPECT_THAT(opened.check().damage, ElementsAre());
}

TEST_F(object_that_changed, is_not_looked_for_within_a_transaction_that_changes_some) {
  pool opened = pool::open(in.file());
  transaction t{opened};
  EXPECT_EQ(opened.check().checked_blocks, 2);
  t.set(opened.root<item>("small")->value, 9u);
  const situ::pool_findings within = opened.check();
  EXPECT_EQ(within.checked_blocks, 0);
  EXPECT_THAT(within.damage, ElementsAre());
  EXPECT_THAT(within.notes, ElementsAre(HasSubstr("within a transaction")));
}

TEST_F(object_that_changed, is_not_looked_for_in_a_pool_without_checks) {
  const std::string plain = in.file("plain");
  std::uint64_t offset = 0;
  {
    pool made = pool::create(plain, small);
    push(made, 1);
    offset = made.info().roots.at(0).offset;
    EXPECT_EQ(made.info().version, 1);
    EXPECT_FALSE(made.info().has_object_checks);
  }
  std::vector<char> bytes = bytes_of(plain);
  bytes[offset] ^= 1;
  write_bytes(plain, bytes);
  EXPECT_THAT(pool::open(plain).check().damage, ElementsAre());
  EXPECT_EQ(pool::open(plain).check().checked_blocks, 0);
}

// --- roots that are verified ---

TEST_F(object_that_changed, is_found_when_a_root_that_reaches_it_is_asked_for) {
  flip(offset_of["small"] + 1, 2);
  for (const pool_access access : {pool_access::read, pool_access::write}) {
    const pool opened = pool::open(in.file(), {.access = access, .verify_roots = true});
    for (const char* const root : {"large", "small", "large"}) {
      const std::string refused = error_of(errc::bad_file, [&] {
        if (root[0] == 's') {
          (void)opened.root<item>(root);
        } else {
          (void)opened.root<large_object>(root);
        }
      });
      EXPECT_THAT(refused, AllOf(HasSubstr(in.file() + ", byte " + std::to_string(offset_of["small"])),
                                 HasSubstr(std::string{"item, which root '"} + root + "' reaches"),
                                 HasSubstr("bit 2 of byte " + std::to_string(offset_of["small"] + 1))));
    }
  }
  EXPECT_NE(pool::open(in.file()).root<large_object>("large"), nullptr) << "only where it is wanted";
}

TEST_F(object_that_changed, leaves_roots_alone_that_do_not_reach_it) {
  flip(offset_of["large"] + 1, 2);
  pool opened = pool::open(in.file(), {.verify_roots = true});
  EXPECT_EQ(opened.root<item>("small")->value, 7);
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.root<large_object>("large"); }), HasSubstr("'large'"));
  opened.transact([&](transaction& t) {
    t.set(opened.root<item>("small")->value, 8u);
    EXPECT_NE(opened.root<large_object>("large"), nullptr) << "it is not looked at where objects are being changed";
    t.set_root("new", t.make<item>(1u, opened.root<item>("small")));
  });
  EXPECT_EQ(opened.root<item>("new")->next->value, 8);
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.root<large_object>("large"); }), HasSubstr("'large'"));
}

TEST_F(object_that_changed, is_looked_for_by_roots_only_where_there_are_checks) {
  const std::string plain = in.file("plain");
  (void)pool::create(plain, small);
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)pool::open(plain, {.verify_roots = true}); }),
              HasSubstr("pool_options::object_checks"));
}

// --- several processes ---

// Two of them change the same objects and make others; one is killed at any instruction, again and again.
TEST_F(object_that_changed, is_none_where_processes_write_by_turns_and_are_killed) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  const situ::log_sink sink = situ::set_log_sink([](situ::log_level, std::string_view) {});
  const auto change = [](pool& in, std::uint64_t i) {
    in.transact([&](transaction& t) {
      t.set(in.root<item>("small")->value, i);
      auto* const all = in.root<large_object>("large");
      t.set(all->words[i % 1000], i);
      t.set(all->words[i % 7], i);
      t.set(all->first->next, t.make<item>(i, nullptr));
    });
  };
  for (int round = 0; round < 15; ++round) {
    situ::test::child_signal begun;
    situ::os::child child = situ::test::fork_child(
        [&] {
          pool opened = pool::open(in.file());
          if (!begun.give()) return false;
          for (std::uint64_t i = 0;; ++i) change(opened, i);
        },
        {.seconds = 60});
    pool opened = pool::open(in.file());
    ASSERT_TRUE(begun.wait());
    for (std::uint64_t i = 0; i < 50 + random() % 200; ++i) change(opened, i * 3);
    child.send(SIGKILL);
    EXPECT_EQ(child.wait().signal, SIGKILL);
    opened.transact([](transaction&) {});  // takes back what was left
    EXPECT_THAT(opened.check().damage, ElementsAre());
  }
  situ::set_log_sink(sink);
}

// --- features ---

TEST_F(object_that_changed, features_that_this_build_does_not_know_are_refused_by_name) {
  std::vector<char> bytes = sound;
  pool_header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(std::string_view{header.feature_names}, "object_checks");
  header.features |= 64;
  std::strcpy(header.feature_names, "object_checks time_\ntravel");
  header.check = check_of(0, &header, offsetof(pool_header, check));
  std::memcpy(bytes.data(), &header, sizeof header);
  write_bytes(in.file(), bytes);
  for (const pool_access access : {pool_access::read, pool_access::write})
    EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file(), access); }),
                AllOf(HasSubstr(in.file()), HasSubstr("0x40"), HasSubstr("object_checks time_?travel"),
                      HasSubstr("use the Situ that made it")));
  EXPECT_EQ(bytes_of(in.file()), bytes);
}

// --- at other addresses ---

class object_checks_elsewhere : public testing::Test {
 protected:
  using leaf = situ::test::pool_leaf;
  using node = situ::test::pool_node;
  object_checks_elsewhere() {
    file.fill(image);
    std::memcpy(&header, image.data(), sizeof header);
  }
  const std::vector<std::byte> image = situ::test::make_pool_image(false, true);
  situ::test::pool_in_memory file;
  pool_header header;
};

TEST_F(object_checks_elsewhere, of_a_reader_are_right_for_what_it_has_made_of_them) {
  const situ::test::taken_address taken{header.base};
  const pool reader = pool::open(file.path(), pool_access::read);
  EXPECT_TRUE(reader.info().is_moved);
  EXPECT_THAT(reader.check().damage, ElementsAre());
  EXPECT_EQ(reader.root<node>("tree")->children[1]->children[1]->number, 4);
  EXPECT_THAT(reader.check().damage, ElementsAre());
  EXPECT_EQ(reader.root<leaf>("list")->value, 4);
  EXPECT_THAT((reader.check<node, leaf>().damage), ElementsAre());
}

TEST_F(object_checks_elsewhere, of_a_writer_are_right_for_the_new_place_and_wrong_where_they_were) {
  const situ::log_sink sink = situ::set_log_sink([](situ::log_level, std::string_view) {});
  std::uint64_t damaged = 0;
  {
    const pool reader = pool::open(file.path(), pool_access::read);
    damaged = reinterpret_cast<std::uintptr_t>(reader.root<leaf>("list")) - reader.info().base;
  }
  for (const bool is_damaged : {false, true}) {
    file.fill(image);
    if (is_damaged) file.set(damaged, image[damaged] ^ std::byte{4});
    const situ::test::taken_address taken{header.base};
    const pool moved = pool::open(file.path(), {.types = situ::pool_types<node, leaf>()});
    EXPECT_NE(moved.info().base, header.base);
    const auto found = moved.check().damage;
    ASSERT_EQ(found.size(), is_damaged ? 1 : 0);
    if (is_damaged) {
      EXPECT_THAT(found[0], AllOf(HasSubstr("root 'list'"), HasSubstr("more than a bit is wrong")));
    }
  }
  situ::set_log_sink(sink);
}

}  // namespace
