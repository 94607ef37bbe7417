// How long processors have run for another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace situ::test {

// In clock ticks, in user space and in the kernel; 0 if there is no such process. Its name, in brackets, may hold
// blanks, so fields are counted behind it.
inline std::uint64_t processor_ticks(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::string word;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  while (file >> word && !word.ends_with(')')) {}
  for (int skipped = 0; skipped < 11; ++skipped) file >> word;
  file >> user >> system;
  return user + system;
}

}  // namespace situ::test
