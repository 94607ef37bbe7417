// `situ rmem` as a user or a script calls it, for tests.
#pragma once

#include "rmem/servers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "os/mapping.h"
#include "support/build_paths.h"
#include "support/processor_time.h"
#include "support/programs.h"

namespace situ_rmem_test {

using told = situ::test::shell_result;
inline told run(const std::string& arguments) {
  return situ::test::run_shell(SITU_TEST_BIN_DIR "/situ rmem " + arguments);
}

// `situ rmem serve` until it is told to end; it ends with the test. descriptors: its soft limit of them; 0: this one's.
class served {
 public:
  explicit served(std::vector<std::string> options, rlim_t descriptors = 0) {
    options.insert(options.begin(), {SITU_TEST_BIN_DIR "/situ", "rmem", "serve", "--json", "--listen", "127.0.0.1:0"});
    const os::exec_texts words{std::move(options)};
    os::pipe_ends ends = os::pipe_ends::make();
    os::start_failures failures;
    process_ = os::child::start(
        {.file = words.data()[0], .arguments = words, .output = ends.write.number(), .errors = log_.number()},
        {.signal_at_parents_end = SIGKILL,
         .in_child =
             [descriptors] {
               if (descriptors > 0) limit_descriptors(0, descriptors);
               return true;
             }},
        failures);
    if (!process_) throw std::runtime_error{"no process"};
    ends.write.close();
    const std::unique_ptr<FILE, int (*)(FILE*)> said{::fdopen(ends.read.release(), "r"), &std::fclose};
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), line.size(), said.get()) != nullptr)
      endpoint_ = nlohmann::json::parse(line.data())["endpoints"][0];
  }
  ~served() {
    if (process_) (void)end();
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  void signal(int which) const { process_.send(which); }
  // It gets no further descriptor, or (false) it may have as many as before.
  void set_out_of_descriptors(bool is_out) const {
    rlim_t most = 0;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/" + std::to_string(process_.id()) + "/fd"})
      most = std::max<rlim_t>(most, std::stoul(each.path().filename()));
    limit_descriptors(process_.id(), is_out ? most + 1 : most + 1000);
  }
  // What it has written to standard error so far.
  [[nodiscard]] std::string log() const {
    std::string text(std::size_t{1} << 16, '\0');
    const ssize_t got = ::pread(log_.number(), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }
  // Waits until the log has these words, ten seconds at most; returns the log.
  [[nodiscard]] std::string log_with(const std::string& words) const {
    for (int tries = 0; tries < 1000 && log().find(words) == std::string::npos; ++tries)
      std::this_thread::sleep_for(10ms);
    return log();
  }
  // In clock ticks.
  [[nodiscard]] std::uint64_t processor_time() const { return situ::test::processor_ticks(process_.id()); }
  // What it exits with, when it is told to; and by itself.
  [[nodiscard]] int end() {
    process_.send(SIGTERM);
    return wait();
  }
  [[nodiscard]] int wait() {
    const os::exit_status end = process_.wait();
    return end.is_known && end.signal == 0 ? end.code : -1;
  }

 private:
  static void limit_descriptors(pid_t of, rlim_t most) {
    rlimit limit{};
    if (::prlimit(of, RLIMIT_NOFILE, nullptr, &limit) != 0) throw std::runtime_error{"no limit"};
    limit.rlim_cur = std::min(most, limit.rlim_max);
    if (::prlimit(of, RLIMIT_NOFILE, &limit, nullptr) != 0) throw std::runtime_error{"the limit stays"};
  }
  os::descriptor log_ = os::memory_file("log of a server");
  os::child process_;
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
