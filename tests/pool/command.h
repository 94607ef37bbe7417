// Runs `situ pool` as a user or a script calls it.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "support/build_paths.h"

namespace situ_pool_test {

struct outcome {
  int exit_code;
  std::string text;  // standard output, and standard error behind it
};

inline outcome run(const std::string& arguments) {
  FILE* const pipe = ::popen((SITU_TEST_BIN_DIR "/situ pool " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n = 0; (n = ::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace situ_pool_test
