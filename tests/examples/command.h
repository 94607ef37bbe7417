// Runs a command to its end, or to a time limit, and keeps what it wrote. Output goes to unnamed files, so no pipe can
// fill up.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace package_rank::test {

struct command_result {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out, err;
};

// Appending: the places write to it at the same time, and the kernel keeps a memfd's shared position only for one
// writer.
inline int make_output(const char* name) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0 || fcntl(descriptor, F_SETFL, O_APPEND) != 0) std::abort();
  return descriptor;
}

inline std::string read_back(int descriptor) {
  std::string text(static_cast<std::size_t>(lseek(descriptor, 0, SEEK_END)), '\0');
  const ssize_t count = pread(descriptor, text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

// `environment` holds NAME=value; `input` is a file, empty for none.
inline command_result run_command(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                                  const std::string& input = "/dev/null") {
  const int out = make_output("out");
  const int err = make_output("err");
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(open(input.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (std::string& variable : environment) putenv(variable.data());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  setpgid(child, child);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{100};
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > limit) {
      ADD_FAILURE() << "still running after 100 s: " << arguments[0];
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  command_result result{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), read_back(out),
                        read_back(err)};
  close(out);
  close(err);
  return result;
}

// A folder of its own, gone at the end.
class scratch_folder {
 public:
  scratch_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "situ-examples-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string write(const std::string& name, const std::string& text, bool executable = false) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream{file, std::ios::binary} << text;
    if (executable) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file.string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// `situ run -n places [--in-process] <program beside situ> arguments...`
inline command_result situ_run(unsigned places, bool in_process, const std::string& program,
                               std::vector<std::string> arguments, std::vector<std::string> environment = {},
                               const std::string& input = "/dev/null") {
  const std::string bin = SITU_TEST_BIN_DIR;
  std::vector<std::string> all{bin + "/situ", "run", "-n", std::to_string(places)};
  if (in_process) all.push_back("--in-process");
  all.push_back(bin + "/" + program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_command(std::move(all), std::move(environment), input);
}

}  // namespace package_rank::test
