// Decides whether another process has ended, from evidence only: a check that fails proves nothing.
//
// The checks, in this order, and their conclusions:
//
//   /proc/self, its name spaces  the two processes count processes in the same numbers (pid name space) and time from
//                                the same moment (time name space), and /proc shows these numbers; else nothing
//   kill(number, 0)              ESRCH: the process has ended. It needs no descriptor and no /proc/NUMBER
//   /proc/NUMBER/stat            it began at another moment: the number is another process's by now. State X, or state
//                                Z with a single thread left: all of its threads have ended. Z with more threads: the
//                                main thread has ended by pthread_exit, and the process lives
//
// Any other result, or none (no descriptor left, EACCES, hidepid, no /proc), counts as alive. Thread-safe. Functions
// without state.
#pragma once

#include <cstdint>

namespace situ::detail {

struct process_identity {
  std::uint64_t number = 0;
  std::uint64_t begun = 0;   // in clock ticks, as its time name space counts them; 0: unknown
  std::uint64_t spaces = 0;  // identifies its pid and time name spaces; 0: unknown
};

// Returns the identity of the calling process. cost: five system calls.
[[nodiscard]] process_identity own_identity() noexcept;
// Returns true if the process has certainly ended. cost: four to seven system calls.
[[nodiscard]] bool has_ended(const process_identity& process) noexcept;

}  // namespace situ::detail
