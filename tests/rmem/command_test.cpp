// `situ rmem` as a user or a script calls it.
#include "rmem/command.h"

#include <sys/eventfd.h>

#include <chrono>
#include <list>
#include <memory>
#include <stdexcept>

#include "rmem/raw_client.h"
#include "support/forked.h"
#include "support/stalls.h"

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

TEST_F(rmem_command, replicas_carry_on_where_one_is_frozen_and_one_is_drained) {
  served names{{"--keys", keys}};
  const auto replica = [&](std::vector<std::string> how) {
    how.insert(how.end(), {"--keys", keys, "--memory", "1MiB", "--names", names.endpoint()});
    return std::make_unique<served>(std::move(how));
  };
  std::vector<std::unique_ptr<served>> all;
  for (int i = 0; i < 2; ++i) all.push_back(replica({"--index", "3", "--replicas", "2"}));
  rmem::client one{names.endpoint(), rmem::load_key(keys)};
  const auto chain = [&](std::size_t members, const std::string& without = "") {
    for (int tries = 0; tries < 4000; ++tries) {
      const auto sets = one.list_replicas().sets;
      if (!sets.empty() && sets[0].endpoints.size() == members && sets[0].endpoints[0] != without) return sets[0];
      std::this_thread::sleep_for(5ms);
    }
    throw std::runtime_error{"the chain does not become so"};
  };
  const auto first = chain(2);
  const rmem::capability mine = one.allocate(4096, 3);
  one.write(mine, 0, pattern(4096));
  const auto whose = [&](const std::string& endpoint) -> served& {
    for (auto& each : all)
      if (each->endpoint() == endpoint) return *each;
    throw std::runtime_error{"no such server"};
  };
  served& frozen = whose(first.endpoints[0]);
  const situ::test::stall_meter stalls;
  frozen.signal(SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t word = one.fetch_add(mine, 4088, 1);
  EXPECT_EQ(one.fetch_add(mine, 4088, 0), word + 1);
  EXPECT_TRUE(stalls.allow(std::chrono::steady_clock::now() - begin, 1s));  // docs/design/rmem.md
  chain(1);
  frozen.signal(SIGCONT);  // serves nothing, and joins again
  chain(2);
  const std::string drained = first.endpoints[1];
  all.push_back(replica({"--spare"}));
  const told said = run("drain " + drained + " " + names.endpoint() + " --as cluster --keys " + keys);
  EXPECT_EQ(said.exit_code, 0) << said.text;
  EXPECT_THAT(said.text, testing::HasSubstr(drained + " has been drained"));
  EXPECT_EQ(whose(drained).wait(), 0);
  std::vector<std::byte> got(4080);
  one.read(mine, 0, got);
  const std::vector<std::byte> sent = pattern(4096);
  EXPECT_EQ(got, std::vector(sent.begin(), sent.begin() + 4080));
  const json listed = json::parse(run("ls --json --as cluster --keys " + keys + " " + names.endpoint()).text);
  EXPECT_EQ(listed["replicas"][0]["wanted"], 2);
  EXPECT_THAT(run("ls --as cluster --keys " + keys + " " + names.endpoint()).text,
              testing::HasSubstr("server 3 lies at 2 of 2: "));
}

// One line for each that is lost, by name; none for clients that leave.
TEST_F(rmem_command, the_logs_name_a_client_and_servers_that_are_killed) {
  served names{{"--keys", keys}};
  served plain{{"--keys", keys, "--memory", "1MiB", "--index", "7", "--names", names.endpoint()}};
  const auto replica = [&] {
    return std::make_unique<served>(std::vector<std::string>{"--keys", keys, "--memory", "1MiB", "--index", "3",
                                                             "--replicas", "2", "--names", names.endpoint()});
  };
  std::vector<std::unique_ptr<served>> both;
  for (int i = 0; i < 2; ++i) both.push_back(replica());
  rmem::client one{names.endpoint(), rmem::load_key(keys)};
  std::vector<std::string> chain;
  for (int tries = 0; tries < 4000 && chain.size() != 2; ++tries) {
    std::this_thread::sleep_for(5ms);
    const auto sets = one.list_replicas().sets;
    if (!sets.empty() && !sets[0].is_joining) chain = sets[0].endpoints;
  }
  ASSERT_EQ(chain.size(), 2U);
  if (both[0]->endpoint() != chain[0]) std::swap(both[0], both[1]);
  while (one.list_names().size() != 2) std::this_thread::sleep_for(2ms);
  { const rmem::client leaves{plain.endpoint(), rmem::load_key(keys)}; }
  (void)run("stat --keys " + keys + " " + names.endpoint());

  // A client with memory that ends with it, at both servers.
  situ::test::child_signal has_memory;
  os::child client = situ::test::fork_child([&] {
    rmem::client lost{names.endpoint(), rmem::load_key(keys)};
    (void)lost.allocate(4096, 7, rmem::lifetime::connection);
    (void)lost.allocate(8192, 3, rmem::lifetime::connection);
    (void)has_memory.give();
    for (;;) ::pause();
  });
  ASSERT_TRUE(has_memory.wait());
  EXPECT_EQ(plain.log(), "");
  client.send(SIGKILL);
  (void)client.wait();
  const std::string lost = " is lost: it has ended without leaving, as if killed";
  EXPECT_THAT(
      plain.log_with(lost),
      testing::ContainsRegex("warning: remote memory: a client of packages \\(127\\.0\\.0\\.1:[0-9]+\\) is lost: it "
                             "has ended without leaving, as if killed; its 1 region \\(4 KiB\\) is freed"));
  EXPECT_THAT(both[0]->log_with(lost),
              testing::HasSubstr("its 1 region (8 KiB) will be freed in 10 s, unless it comes back\n"));

  plain.signal(SIGKILL);
  both[0]->signal(SIGKILL);
  const std::string server = "the server rmem.7 at " + plain.endpoint();
  EXPECT_THAT(names.log_with(server), testing::HasSubstr(server + " is lost: "));
  const std::string replaced = "server 3: the replica at " + chain[0] +
                               " is lost: it has sent no heartbeat for 400 ms; " + chain[1] +
                               " serves, and 1 of 2 replicas are left\n";
  EXPECT_THAT(names.log_with(replaced), testing::HasSubstr(replaced));
  EXPECT_THAT(names.log(), testing::HasSubstr("the server at " + chain[0] + " is lost: "));
  EXPECT_THAT(both[1]->log_with("put out"),
              testing::HasSubstr("server 3: the replica at " + chain[0] +
                                 " is put out, as it is lost or drained; this one serves\n"));
  EXPECT_THAT(both[1]->log(),
              testing::HasSubstr("server 3: the connection to the replica at " + chain[0] + " is cut; "));
}

// Who is logged in stays, whoever knocks; who knocks waits.
TEST_F(rmem_command, out_of_descriptors_nobody_is_closed_and_accepting_rests) {
  served memory{{"--keys", keys, "--memory", "4MiB"}};
  const rmem::application_key key = rmem::load_key(keys);
  std::list<std::pair<rmem::client, rmem::capability>> inside;
  for (int i = 0; i < 12; ++i) {
    rmem::client each{memory.endpoint(), key};
    const rmem::capability mine = each.allocate(64, {}, rmem::lifetime::connection);
    inside.emplace_back(std::move(each), mine);
  }
  memory.set_out_of_descriptors(true);
  std::vector<raw_client> strangers;
  for (int i = 0; i < 6; ++i) strangers.emplace_back(memory.endpoint());
  std::jthread late{[&] { (void)rmem::client{memory.endpoint(), key, {.timeout = 60s}}; }};
  // It does not ask again and again.
  std::uint64_t ticks = 100;
  for (int tries = 0; tries < 20 && ticks > 4; ++tries) {
    const std::uint64_t before = memory.processor_time();
    std::this_thread::sleep_for(200ms);
    ticks = memory.processor_time() - before;
  }
  EXPECT_LE(ticks, 4U);
  for (auto& [each, mine] : inside) EXPECT_EQ(each.fetch_add(mine, 0, 1), 0U);
  inside.pop_front();  // makes room for strangers, and in the end for the client behind them
  late.join();
  for (auto& [each, mine] : inside) EXPECT_EQ(each.fetch_add(mine, 0, 1), 1U);
}

// A descriptor that comes and finds no room is no wrong answer of the server.
TEST_F(rmem_command, a_client_without_a_descriptor_for_a_mapping_is_told_so) {
  const std::string at = "unix:" + testing::TempDir() + "situ-rmem-descriptors-" + std::to_string(::getpid());
  served memory{{"--keys", keys, "--memory", "1MiB", "--listen", at}};
  rmem::client one{at, rmem::load_key(keys)};
  const rmem::capability mine = one.allocate(4096, {}, rmem::lifetime::connection);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit less = before;
  less.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &less), 0);
  std::vector<os::descriptor> all;
  do all.emplace_back(::eventfd(0, EFD_CLOEXEC));
  while (all.back());
  expect_refused(errc::out_of_memory, [&] { (void)one.map(mine); }, "this process has none left");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(one.fetch_add(mine, 0, 1), 0U);
}

TEST_F(rmem_command, descriptors_are_had_up_to_the_hard_limit_or_it_does_not_start) {
  served memory{{"--keys", keys, "--memory", "1MiB"}, 40};
  std::vector<rmem::client> all;
  for (int i = 0; i < 60; ++i) all.emplace_back(memory.endpoint(), rmem::load_key(keys));
  const told said = situ::test::run_shell(
      "ulimit -n 128; exec " SITU_TEST_BIN_DIR "/situ rmem serve --clients 1000 --listen 127.0.0.1:0 --keys " + keys);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.text, testing::HasSubstr("a server of 1000 clients needs 1160 file descriptors, and this process "
                                            "may have 128 (RLIMIT_NOFILE)"));
}

TEST_F(rmem_command, what_is_no_socket_is_not_removed) {
  const std::string file = testing::TempDir() + "situ-rmem-file-" + std::to_string(::getpid());
  std::ofstream{file} << "years of work\n";
  std::filesystem::create_symlink(file, file + ".link");
  for (const std::string& at : {file, file + ".link"}) {
    const told said = run("serve --memory 1MiB --keys " + keys + " --listen unix:" + at);
    EXPECT_EQ(said.exit_code, 1);
    EXPECT_THAT(said.text, testing::HasSubstr("cannot listen at unix:" + at + ": there is a file that is no socket"));
  }
  EXPECT_EQ(std::filesystem::file_size(file), 14U);
  EXPECT_TRUE(std::filesystem::is_symlink(file + ".link"));
  std::filesystem::remove(file + ".link");
  std::filesystem::remove(file);
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
