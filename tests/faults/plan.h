// What the programs of a run share with who looks for faults: how many calls there were, and which one fails. A file of
// this form lies where SITU_FAULTS says; faults_test.py has the same offsets.
#pragma once

#include <atomic>
#include <cstdint>

namespace situ_faults {

inline constexpr char variable[] = "SITU_FAULTS";
inline constexpr std::uint64_t magic = 0x31746c7561667473;
inline constexpr std::uint32_t most_calls = 65536;

// The calls that may fail, as faults.cpp names them.
enum class call : std::uint8_t {
  none,
  open,
  fopen,
  opendir,
  stat,
  access,
  readlink,
  read,
  kill,
  connect,
  socket,
  accept,
  receive,
  pidfd_open,
  make_descriptor,  // pipes, eventfd, epoll, signalfd, memfd
  duplicate,        // fcntl(F_DUPFD...)
  map,
  fork,
  wait,  // poll, epoll_wait, waitpid, waitid
  count
};

struct plan {
  std::uint64_t magic;
  char programs[256];                           // those whose file begins with this are looked at
  std::atomic<std::uint64_t> calls;             // so far, of all programs
  std::uint64_t fails;                          // which of them; 0: none
  std::uint32_t reason;                         // which of the reasons that this call may have, from 0 on
  std::uint32_t first;                          // only calls of this kind are counted; 0: all
  std::atomic<std::int32_t> failed;             // errno's value; 0: none has yet, -1: it has no such reason
  std::int32_t process;                         // that it failed in
  std::uint32_t what;                           // a call
  std::uint32_t passed_over;                    // a bit for each kind that is not counted
  char detail[128];                             // a path, where there is one
  std::atomic<std::uint8_t> kinds[most_calls];  // of each call
};

}  // namespace situ_faults
