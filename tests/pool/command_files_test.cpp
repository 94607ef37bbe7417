// `situ pool dump`, `copy` and `diff`.
#include "command.h"
#include "pool/format.h"
#include "pools.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>
#include <thread>

#include "support/forked.h"

using namespace situ_pool_test;
using nlohmann::json;
using situ::pool;
using situ::pool_access;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class pool_files_command : public testing::Test {
 protected:
  pool_files_command() {
    pool made = pool::create(in.file(), small);
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
  }
  [[nodiscard]] std::vector<std::uint64_t> values(const std::string& name) const {
    return values_of(pool::open(in.file(name), pool_access::read).root<item>("head"));
  }
  [[nodiscard]] std::size_t files() const {
    const std::filesystem::directory_iterator all{std::filesystem::path{in.file()}.parent_path()};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  folder in;
};

TEST_F(pool_files_command, dump_shows_roots_blocks_and_what_leads_where) {
  const std::vector<char> before = bytes_of(in.file());
  const json told = json::parse(run("dump --json " + in.file()).text);
  ASSERT_EQ(told["blocks"].size(), 3);
  EXPECT_EQ(told["roots"][0]["name"], "head");
  const json& last = told["blocks"][2];  // that was made last
  EXPECT_EQ(last["offset"], told["roots"][0]["offset"]);
  EXPECT_EQ(last["roots"], json{"head"});
  EXPECT_THAT(last["content"].get<std::string>(), testing::StartsWith("0300000000000000"));
  EXPECT_EQ(last["pointers"], (json{{{"at", 8}, {"leads_to", told["blocks"][1]["offset"]}}}));
  EXPECT_EQ(told["blocks"][0]["pointers"], json::array());
  const std::string text = run("dump " + in.file()).text;
  EXPECT_THAT(text, testing::AllOf(HasSubstr("root head: 16 bytes at byte"), HasSubstr(", root head\n"),
                                   HasSubstr("0300000000000000"), HasSubstr("-> byte ")));
  EXPECT_EQ(json::parse(run("dump --json --root none " + in.file()).text)["blocks"], json::array());
  EXPECT_EQ(json::parse(run("dump --json --bytes 0 " + in.file()).text)["blocks"][0]["content"], "");
  EXPECT_EQ(bytes_of(in.file()), before);
}

TEST_F(pool_files_command, dump_shows_names_that_are_no_text) {
  std::fstream{in.file(), std::ios::binary | std::ios::in | std::ios::out}
      .seekp(situ::detail::pool_roots_offset)
      .put('\xff');
  EXPECT_THAT(run("dump " + in.file()).text, HasSubstr("root \\xffead:"));
  EXPECT_EQ(json::parse(run("dump --json " + in.file()).text)["roots"].size(), 1);
}

TEST_F(pool_files_command, a_copy_is_the_same_and_goes_its_own_way) {
  const outcome copied = run("copy --json " + in.file() + " " + in.file("copy.pool"));
  EXPECT_EQ(copied.exit_code, 0) << copied.text;
  EXPECT_EQ(json::parse(copied.text)["bytes"], bytes_of(in.file()).size());
  EXPECT_EQ(bytes_of(in.file("copy.pool")), bytes_of(in.file()));
  EXPECT_EQ(run("diff " + in.file() + " " + in.file("copy.pool")).exit_code, 0);
  push(*std::make_unique<pool>(pool::open(in.file("copy.pool"))), 4);
  EXPECT_THAT(values("test.pool"), ElementsAre(3, 2, 1));
  EXPECT_THAT(values("copy.pool"), ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(files(), 2) << "nothing else is left";
}

TEST_F(pool_files_command, a_copy_has_room_where_the_pool_has) {
  ASSERT_EQ(run("copy " + in.file() + " " + in.file("copy.pool")).exit_code, 0);
  struct stat status{};
  ASSERT_EQ(::stat(in.file("copy.pool").c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 1 << 20) << "or whoever writes on a full disk gets a signal";
  EXPECT_LT(status.st_blocks * 512, 2 << 20);
}

TEST_F(pool_files_command, a_copy_replaces_only_what_it_is_told_to) {
  write_bytes(in.file("copy.pool"), {'x'});
  const outcome refused = run("copy " + in.file() + " " + in.file("copy.pool"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.text, testing::AllOf(HasSubstr("copy.pool"), HasSubstr("File exists")));
  EXPECT_THAT(bytes_of(in.file("copy.pool")), ElementsAre('x'));
  EXPECT_EQ(run("copy --replace " + in.file() + " " + in.file("copy.pool")).exit_code, 0);
  EXPECT_THAT(values("copy.pool"), ElementsAre(3, 2, 1));
  EXPECT_EQ(files(), 2);
}

TEST_F(pool_files_command, a_copy_that_has_no_room_leaves_nothing) {
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit less = before;
  less.rlim_cur = 1 << 19;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const outcome full = run("copy " + in.file() + " " + in.file("copy.pool"));
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.text,
              HasSubstr("the limit on the size of files is 512 KiB for this process (RLIMIT_FSIZE, ulimit -f)"));
  EXPECT_EQ(files(), 1);
}

// The copy's log has all of it, also where pools without a redo log have their area.
TEST_F(pool_files_command, a_copy_has_what_a_redo_log_holds) {
  const situ::os::exit_status end = situ::test::in_forked_child([&] {
    pool made = pool::create(in.file("batched"), {.most_bytes = 1 << 24, .promise = situ::pool_promise::batched});
    for (std::uint64_t i = 0; i < 600; ++i) push(made, i);
    situ::test::kill_this_process();
  });
  EXPECT_EQ(end.signal, SIGKILL);
  ASSERT_EQ(run("copy " + in.file("batched") + " " + in.file("copy.pool")).exit_code, 0);
  EXPECT_EQ(values("copy.pool").size(), 600);
}

TEST_F(pool_files_command, a_copy_is_whole_beside_one_that_writes) {
  pool writer = pool::open(in.file());
  std::atomic<bool> is_enough{false};
  std::jthread writing{[&] {
    while (!is_enough) {
      writer.transact([&](situ::transaction& t) {
        item* const head = writer.root<item>("head");
        t.set(head->value, head->value + 1);
        t.set(head->next->value, head->value);
      });
    }
  }};
  for (int i = 0; i < 5; ++i) {
    const outcome copied = run("copy --replace " + in.file() + " " + in.file("copy.pool"));
    EXPECT_EQ(copied.exit_code, 0) << copied.text;
    EXPECT_EQ(run("check " + in.file("copy.pool")).exit_code, 0);
    const std::vector<std::uint64_t> found = values("copy.pool");
    EXPECT_TRUE(found[0] == found[1] || (found[0] == 3 && found[1] == 2)) << found[0] << " " << found[1];
  }
  is_enough = true;
}

TEST_F(pool_files_command, a_copy_is_refused_beside_one_that_has_it_alone_and_of_what_is_no_pool) {
  {
    const pool writer = pool::open(in.file(), pool_access::exclusive);
    EXPECT_THAT(run("copy " + in.file() + " " + in.file("copy.pool")).text, HasSubstr("a writer has it open alone"));
  }
  write_bytes(in.file("other"), std::vector<char>(100000, 'x'));
  EXPECT_THAT(run("copy " + in.file("other") + " " + in.file("copy.pool")).text, HasSubstr("this is no pool"));
  EXPECT_FALSE(std::filesystem::exists(in.file("copy.pool")));
}

TEST_F(pool_files_command, a_copy_of_an_incomplete_transaction_is_taken_back_when_it_is_opened) {
  std::vector<char> cut;
  {
    pool opened = pool::open(in.file());
    situ::transaction t{opened};
    t.set(opened.root<item>("head")->value, 99u);
    cut = bytes_of(in.file());
  }
  write_bytes(in.file("cut.pool"), cut);
  ASSERT_EQ(run("copy " + in.file("cut.pool") + " " + in.file("copy.pool")).exit_code, 0);
  const pool opened = pool::open(in.file("copy.pool"));
  EXPECT_EQ(opened.info().restored_ranges, 1);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
}

TEST_F(pool_files_command, diff_says_what_differs) {
  ASSERT_EQ(run("copy " + in.file() + " " + in.file("copy.pool")).exit_code, 0);
  {
    pool changed = pool::open(in.file("copy.pool"));
    changed.transact([&](situ::transaction& t) {
      item* const head = changed.root<item>("head");
      t.set(head->next->value, 0x0101u);
      t.set_root("other", t.make<item>(5u, head));
    });
  }
  const outcome result = run("diff --json " + in.file() + " " + in.file("copy.pool"));
  EXPECT_EQ(result.exit_code, 1) << result.text;
  const json told = json::parse(result.text);
  EXPECT_EQ(told["same"], false);
  EXPECT_EQ(told["roots"], (json{{{"name", "other"}, {"what", "only in the second"}}}));
  ASSERT_EQ(told["blocks"].size(), 2);
  EXPECT_EQ(told["blocks"][0]["what"], "differs");
  EXPECT_EQ(told["blocks"][0]["first_byte"], 0);
  EXPECT_EQ(told["blocks"][0]["differing_bytes"], 2);
  EXPECT_EQ(told["blocks"][1]["what"], "only in the second");
  const std::string text = run("diff " + in.file() + " " + in.file("copy.pool")).text;
  EXPECT_THAT(text, testing::AllOf(HasSubstr("root other: only in the second"), HasSubstr("differs in 2 of 16 bytes")));
  EXPECT_EQ(run("diff " + in.file() + " " + in.file("none.pool")).exit_code, 2);
}

// Two pools that were filled in the same way, at other addresses.
TEST_F(pool_files_command, diff_takes_pointers_for_the_same_that_lead_to_the_same_byte) {
  {
    pool other = pool::create(in.file("other.pool"), small);
    for (const std::uint64_t value : {1, 2, 3}) push(other, value);
  }
  const outcome result = run("diff " + in.file() + " " + in.file("other.pool"));
  EXPECT_EQ(result.exit_code, 0) << result.text;
  push(*std::make_unique<pool>(pool::open(in.file("other.pool"))), 4);
  EXPECT_EQ(run("diff " + in.file() + " " + in.file("other.pool")).exit_code, 1);
}

}  // namespace
