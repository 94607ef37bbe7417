// What a test does in a child process that the system refuses something: system calls, as a container's seccomp profile
// does, or locked memory.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/forked.h"

namespace situ::test {

// From here on these calls of the process fail so.
inline void refuse_calls(std::initializer_list<long> calls, int error) {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
    ::_exit(77);
}

// From here on the process locks all that it maps, and may lock so much.
inline void lock_future_memory(std::uint64_t most_bytes) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held{};
  ::syscall(SYS_capget, &head, held.data());
  for (std::uint32_t* const each : {&held[0].effective, &held[0].permitted}) *each &= ~(1U << CAP_IPC_LOCK);
  const rlimit limit{most_bytes, most_bytes};
  if (::syscall(SYS_capset, &head, held.data()) != 0 || ::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      ::mlockall(MCL_FUTURE) != 0)
    ::_exit(77);
}

// What `body` returns, or what it throws says, in a forked child.
[[nodiscard]] inline std::string in_a_child(const std::function<std::string()>& body) {
  const said_by_child said = said_in_forked_child([&] {
    try {
      return body();
    } catch (const std::exception& bad) {
      return std::string{bad.what()};
    }
  });
  const int code = code_of(said.end);
  if (code == 77) return "skipped: the system does not let the child be restricted";
  return code == 0 ? said.text : said.text + " (the child ended by " + std::to_string(code) + ")";
}

}  // namespace situ::test
