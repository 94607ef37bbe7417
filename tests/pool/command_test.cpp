// `situ pool` as a user or a script calls it.
#include "command.h"
#include "pool/format.h"
#include "pools.h"
#include "processes.h"

#include <nlohmann/json.hpp>

using namespace situ_pool_test;
using nlohmann::json;
using situ::pool;
using testing::HasSubstr;

namespace {

class pool_command : public testing::Test {
 protected:
  pool_command() {
    pool made = pool::create(in.file(), small);
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
  }
  void set(std::uint64_t offset, char value) {
    std::fstream{in.file(), std::ios::binary | std::ios::in | std::ios::out}
        .seekp(static_cast<std::streamoff>(offset))
        .put(value);
  }
  folder in;
};

TEST_F(pool_command, info_says_what_a_pool_is) {
  const outcome text = run("info " + in.file());
  EXPECT_EQ(text.exit_code, 0) << text.text;
  EXPECT_THAT(text.text, testing::AllOf(HasSubstr("1 MiB, "), HasSubstr("at most 16 MiB"),
                                        HasSubstr("root           head:"), HasSubstr("the end of its process\n")));
  const outcome result = run("info --json " + in.file());
  const json told = json::parse(result.text);
  EXPECT_EQ(told["version"], 1);
  EXPECT_EQ(told["promise"], "process");
  ASSERT_TRUE(told.contains("device"));
  EXPECT_THAT(text.text, HasSubstr(told["device"].is_null() ? "none that the kernel names"
                                                            : told["device"]["block"].get<std::string>()));
  EXPECT_EQ(told["transactions"], 3);
  EXPECT_EQ(told["roots"].size(), 1);
  EXPECT_EQ(told["roots"][0]["name"], "head");
  EXPECT_EQ(told["roots"][0]["bytes"], sizeof(item));
}

TEST_F(pool_command, check_finds_a_sound_pool_sound) {
  const std::vector<char> before = bytes_of(in.file());
  EXPECT_EQ(run("check " + in.file()).exit_code, 0);
  const json told = json::parse(run("check --json " + in.file()).text);
  EXPECT_EQ(told["sound"], true);
  EXPECT_EQ(told["blocks"], 3);
  EXPECT_EQ(told["damage"], json::array());
  EXPECT_EQ(bytes_of(in.file()), before);
}

TEST_F(pool_command, check_names_what_is_damaged) {
  set(situ::detail::pool_roots_offset, 'X');
  set(situ::detail::pool_heap_offset(small.most_bytes), 'X');
  const outcome result = run("check --json " + in.file());
  EXPECT_EQ(result.exit_code, 1);
  const json told = json::parse(result.text);
  EXPECT_EQ(told["sound"], false);
  EXPECT_EQ(told["damage"].size(), 2);
  EXPECT_THAT(run("check " + in.file()).text, HasSubstr("damage: byte 4096: root 0 is damaged"));
  EXPECT_THAT(run("check " + in.file()).text,
              HasSubstr("`situ pool repair " + in.file() + "` mends what can be mended"));
}

TEST_F(pool_command, check_says_why_a_pool_cannot_be_opened) {
  set(20, 'X');
  const outcome result = run("check --json " + in.file());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(json::parse(result.text)["damage"][0].get<std::string>(), HasSubstr("the check of the header is wrong"));
  EXPECT_EQ(run("info " + in.file()).exit_code, 1);
  EXPECT_THAT(run("info " + in.file() + "-none").text, HasSubstr("No such file"));
}

// The advice is what helps: the command that mends it, by its name, unless that cannot.
TEST_F(pool_command, check_names_repair_if_that_can_mend_it) {
  const std::vector<char> sound = bytes_of(in.file());
  const auto advice = [&](std::uint64_t at, char bit) {
    write_bytes(in.file(), sound);
    set(at, static_cast<char>(sound[at] ^ (1 << bit)));
    const std::string text = run("check " + in.file()).text;
    const bool is_mended = run("repair " + in.file()).exit_code == 0;
    std::filesystem::remove(in.file() + ".repaired");
    EXPECT_EQ(text.find("`situ pool repair " + in.file() + "` mends what can be mended") != std::string::npos,
              is_mended)
        << text;
    return text;
  };
  EXPECT_THAT(advice(3, 1), HasSubstr("it does not begin with SITUPOOL, and the rest of its header is a pool's"));
  EXPECT_THAT(advice(8, 3), HasSubstr("its format version was"));
  EXPECT_THAT(advice(20, 0), HasSubstr("the check of the header is wrong"));
  write_bytes(in.file(), std::vector<char>(sound.size(), 'x'));
  EXPECT_THAT(run("check " + in.file()).text, HasSubstr("bring the file back from a copy, or make the pool anew"));
}

TEST_F(pool_command, looks_at_a_pool_that_is_in_use) {
  const pool writer = pool::open(in.file());
  EXPECT_EQ(run("check " + in.file()).exit_code, 0);
  EXPECT_THAT(run("info " + in.file()).text, HasSubstr("root           head:"));
}

TEST_F(pool_command, is_refused_beside_one_that_has_it_alone) {
  const pool writer = pool::open(in.file(), situ::pool_access::exclusive);
  const outcome result = run("info " + in.file());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.text, HasSubstr("a writer has it open alone"));
}

// In a transaction, until `is_enough`.
process stopped_writer(const std::string& path, common<std::atomic<int>>& step) {
  return process{[&] {
    pool by = pool::open(path);
    const situ::transaction t{by};
    *step = 1;
    return comes_true([&] { return *step == 2; });
  }};
}

TEST_F(pool_command, names_the_one_that_it_waits_for_and_waits_as_long_as_it_is_told) {
  common<std::atomic<int>> step;
  process writer = stopped_writer(in.file(), step);
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  const std::string who = "process " + std::to_string(writer.number());
  for (const std::string& command :
       {"info " + in.file(), "check " + in.file(), "dump " + in.file(), "copy " + in.file() + " " + in.file("copy")}) {
    const outcome result = run(command + " --patience 0.05");
    EXPECT_EQ(result.exit_code, 1) << command;
    EXPECT_THAT(result.text, testing::AllOf(HasSubstr(who), HasSubstr("is in a transaction"))) << command;
    EXPECT_THAT(result.text, testing::Not(HasSubstr("waits for others"))) << command;
  }
  EXPECT_EQ(run("diff --patience 0.05 " + in.file() + " " + in.file()).exit_code, 2);
  EXPECT_THAT(run("info --patience 1.1 " + in.file()).text,
              testing::AllOf(HasSubstr("waits for others: " + who), HasSubstr("gives up after 1 s")));
  step->store(2);
  EXPECT_TRUE(writer.wait());
}

TEST_F(pool_command, check_does_not_call_damaged_what_it_cannot_look_at) {
  for (const std::string& path : {in.file("none.pool"), std::filesystem::path{in.file()}.parent_path().string()}) {
    const outcome result = run("check " + path);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.text,
                testing::AllOf(HasSubstr("cannot be opened for reading"), testing::Not(HasSubstr("damage"))));
  }
}

TEST_F(pool_command, check_tells_of_objects_that_no_root_reaches) {
  {
    pool opened = pool::open(in.file());
    opened.transact([&](situ::transaction& t) { t.set(opened.root<item>("head")->next, nullptr); });
  }
  const json told = json::parse(run("check --json " + in.file()).text);
  EXPECT_EQ(told["sound"], true);
  EXPECT_EQ(told["unreached_blocks"], 2);
  EXPECT_EQ(told["unreached_bytes"], 2 * sizeof(item));
  EXPECT_THAT(run("check " + in.file()).text, HasSubstr("2 of them, in 32 B, are reached from no root"));
}

}  // namespace
