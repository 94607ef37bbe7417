// `situ rmem` as a user or a script calls it.
#include "rmem/servers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

using namespace situ_rmem_test;
using nlohmann::json;

namespace {

struct told {
  int exit_code;
  std::string text;
};
told run(const std::string& arguments) {
  FILE* const pipe = ::popen((SITU_TEST_BIN_DIR "/situ rmem " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

// `situ rmem serve` until it is told to end; it ends with the test.
class served {
 public:
  explicit served(std::vector<std::string> options) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
    options.insert(options.begin(), {SITU_TEST_BIN_DIR "/situ", "rmem", "serve", "--json", "--listen", "127.0.0.1:0"});
    std::vector<char*> words;
    for (std::string& each : options) words.push_back(each.data());
    words.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    FILE* const said = ::fdopen(ends[0], "r");
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), line.size(), said) != nullptr) endpoint_ = json::parse(line.data())["endpoints"][0];
    std::fclose(said);
  }
  ~served() {
    if (process_ > 0) (void)end();
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  void signal(int which) const { ::kill(process_, which); }
  // What it exits with.
  [[nodiscard]] int end() {
    int status = 0;
    ::kill(process_, SIGTERM);
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = 0;
  std::string endpoint_;
};

class rmem_command : public testing::Test {
 protected:
  rmem_command() {
    const told key = run("key packages");
    const told operator_key = run("key --operator cluster");
    std::ofstream{keys} << key.text << operator_key.text;
    ::chmod(keys.c_str(), 0600);
  }
  ~rmem_command() override { std::filesystem::remove(keys); }
  const std::string keys = testing::TempDir() + "situ-rmem-command-" + std::to_string(::getpid());
};

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
