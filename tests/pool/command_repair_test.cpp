// `situ pool repair` and `compact`.
#include "command.h"
#include "pool/format.h"
#include "pools.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <cstring>

using namespace situ_pool_test;
using namespace situ::detail;
using nlohmann::json;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class pool_repair_command : public testing::Test {
 protected:
  pool_repair_command() {
    pool made = pool::create(in.file(), small);
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
    push(made, 7, "other");
    sound = bytes_of(in.file());
  }
  template <class Value>
  void set(std::uint64_t offset, Value value) {
    std::vector<char> bytes = bytes_of(in.file());
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    write_bytes(in.file(), bytes);
  }
  void flip(std::uint64_t offset, int bit = 3) {
    set(offset, static_cast<char>(bytes_of(in.file())[offset] ^ (1 << bit)));
  }
  // Runs it, and looks that the pool is as it was, and the other one sound. What it says.
  json repair() {
    const std::vector<char> before = bytes_of(in.file());
    std::filesystem::remove(in.file() + ".repaired");
    const outcome result = run("repair --json " + in.file());
    EXPECT_EQ(result.exit_code, 0) << result.text;
    EXPECT_EQ(bytes_of(in.file()), before);
    const json told = json::parse(result.text.substr(result.text.find('{')));
    EXPECT_EQ(told["damage"], json::array());
    EXPECT_EQ(run("check " + in.file() + ".repaired").exit_code, 0);
    return told;
  }
  [[nodiscard]] std::vector<std::uint64_t> values(const char* root = "head") const {
    return values_of(pool::open(in.file() + ".repaired", pool_access::read).root<item>(root));
  }
  const std::uint64_t heap = pool_heap_offset(small.most_bytes);
  folder in;
  std::vector<char> sound;
};

TEST_F(pool_repair_command, does_nothing_to_what_is_sound) {
  const std::vector<char> lasting = lasting_bytes_of(in.file());
  const outcome result = run("repair --json " + in.file());
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_EQ(json::parse(result.text)["done"], json::array());
  EXPECT_TRUE(json::parse(result.text)["written"].is_null());
  EXPECT_FALSE(std::filesystem::exists(in.file() + ".repaired"));
  EXPECT_EQ(lasting_bytes_of(in.file()), lasting);
}

// One bit of each part that has a check is put right, and nothing is lost.
TEST_F(pool_repair_command, puts_a_bit_right) {
  for (const std::uint64_t at : {std::uint64_t{17}, std::uint64_t{40}, std::uint64_t{505}, pool_sequence_offset + 3,
                                 pool_map_offset + 4, pool_roots_offset + 2, pool_roots_offset + 40, heap + 5,
                                 pool_state_offset + 8, pool_state_offset + pool_state_distance}) {
    SCOPED_TRACE(at);
    write_bytes(in.file(), sound);
    flip(at);
    const json told = repair();
    ASSERT_EQ(told["done"].size(), 1) << told;
    EXPECT_THAT(values(), ElementsAre(3, 2, 1));
    EXPECT_THAT(values("other"), ElementsAre(7));
  }
}

TEST_F(pool_repair_command, says_by_byte_and_bit_what_it_puts_right) {
  flip(pool_roots_offset + 40, 6);
  EXPECT_EQ(repair()["done"][0], "byte 4136: bit 6 was flipped; now the check is right");
}

TEST_F(pool_repair_command, knows_a_slab_by_its_head_and_takes_what_it_does_not_know_for_a_large_block) {
  set(pool_map_offset, std::uint64_t{0x1234567812345678});
  EXPECT_THAT(repair()["done"][0].get<std::string>(), HasSubstr("by its head it is a slab of blocks of 16 bytes"));
  EXPECT_THAT(values(), ElementsAre(3, 2, 1));
  write_bytes(in.file(), sound);
  set(pool_map_offset + 8, std::uint64_t{0x1234567812345678});
  EXPECT_THAT(repair()["done"][0].get<std::string>(), HasSubstr("a large block of 63 chunks, up to the next entry"));
  EXPECT_THAT(values(), ElementsAre(3, 2, 1));
}

TEST_F(pool_repair_command, takes_roots_away_that_are_damaged_and_says_what_they_held) {
  set(pool_roots_offset, std::uint64_t{0});
  const json told = repair();
  ASSERT_EQ(told["done"].size(), 1);
  EXPECT_THAT(told["done"][0].get<std::string>(), AllOf(HasSubstr("root 0 was damaged"), HasSubstr("led to byte")));
  EXPECT_THAT(values(), ElementsAre());
  EXPECT_THAT(values("other"), ElementsAre(7));
}

TEST_F(pool_repair_command, takes_roots_away_that_lead_to_no_object) {
  set(heap + offsetof(slab_header, live), std::uint64_t{1});  // only the first item is live
  const json told = repair();
  EXPECT_EQ(told["done"].size(), 2);
  EXPECT_THAT(told["done"][0].get<std::string>(), HasSubstr("'head'"));
}

TEST_F(pool_repair_command, shortens_the_heap_of_a_file_that_was_cut) {
  write_bytes(in.file(), {sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(heap + 5 * chunk_bytes + 77)});
  EXPECT_THAT(repair()["done"][0].get<std::string>(), HasSubstr("the file ended here"));
  EXPECT_THAT(values(), ElementsAre(3, 2, 1));
  EXPECT_EQ(std::filesystem::file_size(in.file() + ".repaired"), heap + 5 * chunk_bytes);
}

TEST_F(pool_repair_command, takes_back_what_was_left_incomplete_before_it_looks_at_roots) {
  {
    pool opened = pool::open(in.file());
    transaction t{opened};
    t.set_root("head", t.make<item>(9u, nullptr));
    sound = bytes_of(in.file());
  }
  write_bytes(in.file(), sound);
  flip(pool_state_offset + 8);
  const json told = repair();
  ASSERT_EQ(told["done"].size(), 2) << told;
  EXPECT_THAT(told["done"][1].get<std::string>(), HasSubstr("left incomplete is taken back"));
  EXPECT_THAT(values(), ElementsAre(3, 2, 1));
}

TEST_F(pool_repair_command, works_in_place_only_where_it_is_told_to) {
  flip(pool_roots_offset + 2);
  const outcome result = run("repair --yes " + in.file());
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("mended: byte 4098: bit 3"));
  EXPECT_FALSE(std::filesystem::exists(in.file() + ".repaired"));
  EXPECT_THAT(values_of(pool::open(in.file()).root<item>("head")), ElementsAre(3, 2, 1));
}

TEST_F(pool_repair_command, says_what_cannot_be_mended_and_leaves_it) {
  for (std::uint64_t i = 0; i < 4; ++i) set(32 + i * 8, 0x5555555555555555u + i);
  const std::vector<char> before = bytes_of(in.file());
  const outcome result = run("repair " + in.file());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.text, HasSubstr("it cannot be mended"));
  EXPECT_EQ(bytes_of(in.file()), before);
  EXPECT_FALSE(std::filesystem::exists(in.file() + ".repaired"));
}

TEST_F(pool_repair_command, is_refused_beside_others) {
  flip(pool_roots_offset + 2);
  const pool reader = pool::open(in.file(), pool_access::read);
  EXPECT_THAT(run("repair " + in.file()).text, HasSubstr("is in use"));
}

// --- compact ---

class pool_compact_command : public testing::Test {
 protected:
  // Large blocks between small objects; every second of them is free again.
  pool_compact_command() {
    pool made = pool::create(in.file(), small);
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 16; ++i) {
      made.transact([&](transaction& t) {
        blocks.push_back(static_cast<std::byte*>(t.allocate(400000, 16)));
        std::memset(blocks.back(), i + 1, 400000);
      });
    }
    push(made, 5);
    made.transact([&](transaction& t) {
      for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i % 2 == 1 || i > 11) t.destroy(blocks[i]);
    });
  }
  [[nodiscard]] std::uint64_t bytes_on_disk() const {
    struct stat status{};
    return ::stat(in.file().c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
  }
  folder in;
};

TEST_F(pool_compact_command, gives_free_chunks_back_and_keeps_all_objects) {
  ASSERT_EQ(run("copy " + in.file() + " " + in.file("before.pool")).exit_code, 0);
  const std::uint64_t before = bytes_on_disk();
  const outcome result = run("compact --json " + in.file());
  EXPECT_EQ(result.exit_code, 0) << result.text;
  const json told = json::parse(result.text);
  EXPECT_GT(told["cut_bytes"], 0);
  EXPECT_GT(told["hole_bytes"], 5 * 400000);
  EXPECT_EQ(told["freed_bytes"], before - bytes_on_disk());
  EXPECT_GT(told["freed_bytes"], 5 * 400000);
  EXPECT_EQ(run("check " + in.file()).exit_code, 0);
  EXPECT_EQ(run("diff " + in.file() + " " + in.file("before.pool")).exit_code, 0)
      << "not a byte of an object is another";
  EXPECT_EQ(json::parse(run("compact --json " + in.file()).text)["freed_bytes"], 0) << "there is no more";
}

TEST_F(pool_compact_command, leaves_a_pool_that_can_be_filled_again) {
  ASSERT_EQ(run("compact " + in.file()).exit_code, 0);
  pool opened = pool::open(in.file());
  const std::uint64_t before = bytes_on_disk();
  opened.transact([&](transaction& t) {
    for (int i = 0; i < 10; ++i) std::memset(t.allocate(400000, 16), 7, 400000);
  });
  EXPECT_GE(bytes_on_disk(), before + 10 * 400000);
  EXPECT_THAT(opened.check().damage, ElementsAre());
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(5));
}

// A limit on the length of files stands for a disk that is full: a hole that cannot be filled is an error, and no
// signal.
TEST_F(pool_compact_command, leaves_holes_that_are_filled_before_they_are_written) {
  ASSERT_EQ(run("compact " + in.file()).exit_code, 0);
  pool opened = pool::open(in.file());
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit less = before;
  less.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const std::string full = error_of(situ::errc::out_of_memory, [&] {
    opened.transact([&](transaction& t) { std::memset(t.allocate(400000, 16), 7, 400000); });
  });
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(full, HasSubstr("ulimit -f"));
  opened.transact([&](transaction& t) { std::memset(t.allocate(400000, 16), 7, 400000); });
  EXPECT_THAT(opened.check().damage, ElementsAre());
}

TEST_F(pool_compact_command, is_refused_beside_others) {
  const pool reader = pool::open(in.file(), pool_access::read);
  EXPECT_THAT(run("compact " + in.file()).text, HasSubstr("is in use"));
}

}  // namespace
