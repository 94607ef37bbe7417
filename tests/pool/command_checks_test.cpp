// `situ pool` on a pool whose objects have checks.
#include "command.h"
#include "pool/format.h"
#include "pools.h"

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

struct many {
  std::uint64_t words[200];
};

class pool_checks_command : public testing::Test {
 protected:
  pool_checks_command() {
    pool made = pool::create(in.file(), {.most_bytes = small.most_bytes, .object_checks = true});
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
    made.transact([](transaction& t) { t.set_root("many", t.make<many>()); });
    for (const auto& each : made.info().roots) (each.name == "head" ? head : many_at) = each.offset;
  }
  void flip(std::uint64_t offset, int bit) {
    std::vector<char> bytes = bytes_of(in.file());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1 << bit);
    write_bytes(in.file(), bytes);
  }
  // Of the first slab: its check of block 0 is the last.
  [[nodiscard]] std::uint64_t check_of_block(std::uint64_t index) const {
    return object_check_offset(pool_heap_offset(small.most_bytes) + chunk_bytes, index);
  }
  [[nodiscard]] json told_by(const std::string& command, int exit_code) const {
    const outcome result = run(command + " --json " + in.file());
    EXPECT_EQ(result.exit_code, exit_code) << result.text;
    return json::parse(result.text.substr(result.text.find('{')));
  }
  [[nodiscard]] std::vector<std::uint64_t> repaired_values() const {
    return values_of(pool::open(in.file() + ".repaired", pool_access::read).root<item>("head"));
  }
  folder in;
  std::uint64_t head = 0;
  std::uint64_t many_at = 0;
};

TEST_F(pool_checks_command, info_and_check_say_that_there_are_some) {
  EXPECT_THAT(run("info " + in.file()).text, AllOf(HasSubstr("format version 3"), HasSubstr(", and of each object")));
  EXPECT_EQ(told_by("info", 0)["object_checks"], true);
  EXPECT_THAT(run("check " + in.file()).text, HasSubstr("each object is what its check says"));
  EXPECT_EQ(told_by("check", 0)["checked_blocks"], 4);
  const std::string plain = in.file("plain");
  (void)pool::create(plain, small);
  EXPECT_THAT(run("check " + plain).text, HasSubstr("objects have no checks"));
  EXPECT_THAT(run("info --json " + plain).text, HasSubstr("\"object_checks\": false"));
}

TEST_F(pool_checks_command, check_names_objects_that_have_changed) {
  flip(head, 1);
  flip(many_at + 801, 0);
  const json damage = told_by("check", 1)["damage"];
  ASSERT_EQ(damage.size(), 2);
  EXPECT_THAT(damage[0].get<std::string>(),
              AllOf(HasSubstr("byte " + std::to_string(head) + ": an object, root 'head', in a block of 16 bytes"),
                    HasSubstr("bit 1 of byte " + std::to_string(head) + " was flipped"),
                    HasSubstr("`situ pool repair` puts it right")));
  EXPECT_THAT(damage[1].get<std::string>(),
              AllOf(HasSubstr("root 'many'"), HasSubstr("bit 0 of byte " + std::to_string(many_at + 801)),
                    HasSubstr("bring the file back from a copy")));
  EXPECT_THAT(run("check " + in.file()).text, HasSubstr("damage: byte"));
}

TEST_F(pool_checks_command, repair_puts_a_bit_of_a_short_object_or_of_its_check_right) {
  for (const auto& [at, bit] : {std::pair{head + 1, 6}, {check_of_block(1) + 2, 7}}) {
    SCOPED_TRACE(at);
    const std::vector<char> sound = bytes_of(in.file());
    flip(at, bit);
    ASSERT_EQ(told_by("check", 1)["damage"].size(), 1);
    const json told = told_by("repair", 0);
    EXPECT_EQ(told["damage"], json::array());
    ASSERT_EQ(told["done"].size(), 1);
    EXPECT_THAT(told["done"][0].get<std::string>(),
                HasSubstr("byte " + std::to_string(at) + ": bit " + std::to_string(bit) + " of the object"));
    EXPECT_THAT(repaired_values(), ElementsAre(3, 2, 1));
    std::filesystem::remove(in.file() + ".repaired");
    write_bytes(in.file(), sound);
  }
}

TEST_F(pool_checks_command, repair_leaves_objects_of_which_it_cannot_tell_and_says_so) {
  flip(head, 0);
  flip(head + 5, 0);
  flip(many_at, 0);
  flip(pool_roots_offset + 2, 5);  // so that there is something to write
  const json told = told_by("repair", 1);
  EXPECT_EQ(told["done"].size(), 1);
  EXPECT_EQ(told["damage"].size(), 2);
  EXPECT_THAT(told["damage"][0].get<std::string>(), HasSubstr("more than a bit is wrong"));
}

// A bit that was wrong and has been written over is no bit to put right.
TEST_F(pool_checks_command, repair_does_nothing_to_what_a_transaction_has_written_since) {
  flip(many_at + 8, 0);
  {
    pool opened = pool::open(in.file());
    opened.transact([&](transaction& t) { t.set(opened.root<many>("many")->words[1], 5u); });
  }
  const json told = told_by("repair", 1);
  EXPECT_EQ(told["done"], json::array());
  EXPECT_EQ(told["damage"].size(), 1);
  EXPECT_EQ(pool::open(in.file()).root<many>("many")->words[1], 5);
}

TEST_F(pool_checks_command, copies_compactions_and_differences_know_them) {
  const std::string copy = in.file("copy");
  EXPECT_EQ(run("copy " + in.file() + " " + copy).exit_code, 0);
  EXPECT_EQ(run("compact " + copy).exit_code, 0);
  EXPECT_EQ(run("diff " + in.file() + " " + copy).exit_code, 0);
  EXPECT_EQ(run("check " + copy).exit_code, 0);
}

}  // namespace
