// `situ rmem` as a user or a script calls it.
#include "rmem/command.h"

using namespace situ_rmem_test;
using nlohmann::json;

namespace {

using rmem_command = rmem_keys;

TEST_F(rmem_command, serves_until_it_is_told_to_end) {
  served names{{"--keys", keys}};
  served memory{{"--keys", keys, "--memory", "1MiB", "--index", "3", "--names", names.endpoint()}};
  rmem::client one{names.endpoint(), rmem::load_key(keys)};
  while (one.list_names().empty()) std::this_thread::sleep_for(2ms);
  const rmem::capability mine = one.allocate(5000);
  one.write(mine, 0, pattern(5000));

  const told listed = run("ls --keys " + keys + " " + names.endpoint());
  EXPECT_EQ(listed.exit_code, 0) << listed.text;
  EXPECT_THAT(listed.text, testing::HasSubstr("rmem.3 -> " + memory.endpoint()));
  EXPECT_THAT(listed.text, testing::HasSubstr("0x0300000000001000  4.88 KiB, of packages, 1 capability"));
  const json all = json::parse(run("ls --json --as cluster --keys " + keys + " " + names.endpoint()).text);
  EXPECT_EQ(all["regions"][0]["bytes"], 5000);
  EXPECT_EQ(all["regions"][0]["server"], 3);
  EXPECT_EQ(all["names"][0]["name"], "rmem.3");

  const json counts = json::parse(run("stat --json --keys " + keys + " " + names.endpoint()).text);
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0]["server"], 3);
  EXPECT_EQ(counts[0]["written_bytes"], 5000);
  EXPECT_EQ(counts[0]["used_bytes"], 8192);
  EXPECT_THAT(run("stat --keys " + keys + " " + memory.endpoint()).text,
              testing::HasSubstr("  written         4.88 KiB\n"));
  EXPECT_EQ(memory.end(), 0);
  EXPECT_EQ(names.end(), 0);
}

TEST_F(rmem_command, a_server_that_is_frozen_or_killed_is_an_error_within_the_timeout) {
  served memory{{"--keys", keys, "--memory", "1MiB"}};
  rmem::client one{memory.endpoint(), rmem::load_key(keys), {.timeout = 200ms}};
  const rmem::capability mine = one.allocate(4096);
  memory.signal(SIGSTOP);
  for (int i = 0; i < 2; ++i)  // by the connection that there is, and by a new one
    expect_refused(errc::link_lost, [&] { one.write(mine, 0, pattern(8)); }, "sent nothing for 200 ms");
  memory.signal(SIGCONT);
  one.write(mine, 8, pattern(8));
  std::vector<std::byte> got(8);
  one.read(mine, 8, got);
  EXPECT_EQ(got, pattern(8));
  memory.signal(SIGKILL);
  expect_refused(errc::link_lost, [&] { one.read(mine, 0, got); });
}

TEST_F(rmem_command, what_cannot_be_is_said) {
  ::chmod(keys.c_str(), 0644);
  EXPECT_THAT(run("serve --keys " + keys).text, testing::HasSubstr("chmod 600"));
  ::chmod(keys.c_str(), 0600);
  EXPECT_THAT(run("serve --memory 1000TiB --keys " + keys).text, testing::HasSubstr("does not fit this machine"));
  EXPECT_THAT(run("stat --keys " + keys + " 127.0.0.1:1").text, testing::HasSubstr("cannot connect to 127.0.0.1:1"));
  EXPECT_EQ(run("stat --keys " + keys + " 127.0.0.1:1").exit_code, 1);
  EXPECT_EQ(run("key a/b").exit_code, 1);
}

}  // namespace
