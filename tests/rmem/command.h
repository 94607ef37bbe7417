// `situ rmem` as a user or a script calls it, for tests.
#pragma once

#include "rmem/servers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "support/build_paths.h"
#include "support/processor_time.h"

namespace situ_rmem_test {

struct told {
  int exit_code;
  std::string text;
};
inline told run(const std::string& arguments) {
  FILE* const pipe = ::popen((SITU_TEST_BIN_DIR "/situ rmem " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

// `situ rmem serve` until it is told to end; it ends with the test. descriptors: its soft limit of them; 0: this one's.
class served {
 public:
  explicit served(std::vector<std::string> options, rlim_t descriptors = 0) {
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
      if (descriptors > 0) limit_descriptors(0, descriptors);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    FILE* const said = ::fdopen(ends[0], "r");
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), line.size(), said) != nullptr)
      endpoint_ = nlohmann::json::parse(line.data())["endpoints"][0];
    std::fclose(said);
  }
  ~served() {
    if (process_ > 0) (void)end();
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  void signal(int which) const { ::kill(process_, which); }
  // It gets no further descriptor, or (false) it may have as many as before.
  void set_out_of_descriptors(bool is_out) const {
    rlim_t most = 0;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/" + std::to_string(process_) + "/fd"})
      most = std::max<rlim_t>(most, std::stoul(each.path().filename()));
    limit_descriptors(process_, is_out ? most + 1 : most + 1000);
  }
  // In clock ticks.
  [[nodiscard]] std::uint64_t processor_time() const { return situ::test::processor_ticks(process_); }
  // What it exits with, when it is told to; and by itself.
  [[nodiscard]] int end() {
    ::kill(process_, SIGTERM);
    return wait();
  }
  [[nodiscard]] int wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static void limit_descriptors(pid_t of, rlim_t most) {
    rlimit limit{};
    if (::prlimit(of, RLIMIT_NOFILE, nullptr, &limit) != 0) throw std::runtime_error{"no limit"};
    limit.rlim_cur = std::min(most, limit.rlim_max);
    if (::prlimit(of, RLIMIT_NOFILE, &limit, nullptr) != 0) throw std::runtime_error{"the limit stays"};
  }
  pid_t process_ = 0;
  std::string endpoint_;
};

// With a file of keys.
class rmem_keys : public testing::Test {
 protected:
  rmem_keys() {
    const told key = run("key packages");
    const told operator_key = run("key --operator cluster");
    std::ofstream{keys} << key.text << operator_key.text;
    ::chmod(keys.c_str(), 0600);
  }
  ~rmem_keys() override { std::filesystem::remove(keys); }
  const std::string keys = testing::TempDir() + "situ-rmem-command-" + std::to_string(::getpid());
};

}  // namespace situ_rmem_test
