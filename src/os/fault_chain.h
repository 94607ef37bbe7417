// The process's handlers of SIGSEGV, SIGBUS and SIGTRAP. The process has one action for a signal; modules that serve or
// explain faults add links to a chain, and the chain installs its handler for them.
//
//   fault -> links that serve, newest first -> links that explain, newest first -> what would happen without the chain:
//            the handler that the program had installed before, or the default action
//
// Invariants
//   1. The first link that returns true ends the walk, and the interrupted code continues. errno is kept.
//   2. A program that installs its own handler after the chain's gets the faults first, and may call the chain's, which
//      sigaction returned to it. Links added from then on are on a new level in front of that handler: each level has
//      its own handler function, links, and action from before. So a program's handler never calls the level that has
//      called it: there is no circle.
//   3. A level whose last link is removed restores the action from before, unless a handler of the program is in front
//      of it: then it stays, and only passes on.
// The default action: the chain removes its handler and returns, so that the instruction faults again; a signal that
// was sent, or a trap, does not recur, so the chain sends it again. A sent signal that the program ignores is ignored.
//
// Handlers run on a thread's alternate stack if it has one (SA_ONSTACK). The chain takes no lock and allocates nothing
// there, and a link calls only functions that are safe after any instruction of the code whose faults it serves. A link
// may leave the handler by siglongjmp; the signal is blocked then, unless the link restores the mask.
// On x86-64 alone. Thread-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace situ::os {

// A signal that a handler has got, and the state of the interrupted thread.
struct fault_event {
  int signal;
  siginfo_t* info;
  ucontext_t* context;
  bool ends_process;  // the default action follows if no link returns true: no handler of the program was there before

  // A process or a timer has sent the signal: it is no fault.
  [[nodiscard]] bool is_sent() const noexcept { return info->si_code <= 0; }
  // Returns the address of the access; 0 for a signal that was sent.
  [[nodiscard]] std::uintptr_t address() const noexcept {
    return is_sent() ? 0 : reinterpret_cast<std::uintptr_t>(info->si_addr);
  }
  // The processor's error code of a page fault. pre: the event is a fault, no trap.
  // source: Intel 64 manual, volume 3, 4.7: bit 0 is set if the page was present, bit 1 if the access was a write.
  [[nodiscard]] bool is_protected() const noexcept { return (context->uc_mcontext.gregs[REG_ERR] & 1) != 0; }
  [[nodiscard]] bool is_write() const noexcept { return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0; }
  [[nodiscard]] std::uintptr_t stack_pointer() const noexcept {
    return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
  }
  [[nodiscard]] std::uintptr_t instruction_pointer() const noexcept {
    return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  }
  // If on, the thread gets SIGTRAP after its next instruction, and after each one until it is off.
  void set_single_step(bool is_on) const noexcept {
    constexpr greg_t trap_flag = 0x100;  // of EFLAGS: Intel 64 manual, volume 1, 3.4.3.3
    greg_t& flags = context->uc_mcontext.gregs[REG_EFL];
    flags = is_on ? flags | trap_flag : flags & ~trap_flag;
  }
};

enum class fault_rank : std::uint8_t {
  serves,    // handles faults of its own addresses
  explains,  // prints the cause of faults that end the process; asked after the links that serve
};

// One module's part in the chain. An object of static storage.
class fault_link {
 public:
  // Returns true if the interrupted code shall continue. Called in a signal handler.
  using function = bool (*)(const fault_event&) noexcept;
  // signals: SIGSEGV, SIGBUS or SIGTRAP.
  constexpr fault_link(fault_rank rank, std::initializer_list<int> signals, function handle) noexcept
      : handle_{handle}, rank_{rank} {
    for (const int each : signals) takes_[index_of(each)] = true;
  }
  fault_link(const fault_link&) = delete;
  fault_link& operator=(const fault_link&) = delete;

 private:
  friend struct fault_chain;
  static constexpr std::array all_signals{SIGSEGV, SIGBUS, SIGTRAP};
  static constexpr std::size_t index_of(int signal) noexcept {
    return signal == SIGSEGV ? 0 : signal == SIGBUS ? 1 : 2;
  }

  function handle_;
  fault_rank rank_;
  std::array<bool, all_signals.size()> takes_{};
  int users_ = 0;
  std::array<std::atomic<fault_link*>, all_signals.size()> next_{};  // for each signal
};

struct fault_chain {
  // Adds a link to the chains of its signals. Counts users: only the first call has an effect.
  static void add(fault_link& link) noexcept;
  // Undoes one add(). The link is not asked any more after the last one, except by handlers that run already.
  static void remove(fault_link& link) noexcept;
  // From here on, a forked child may call add and remove even if another thread of its parent did so during the fork;
  // and so may the child's handlers that are registered (pthread_atfork) after this call.
  static void allow_in_forked_children() noexcept;

 private:
  struct level;
  struct actions;
  static actions& actions_of(std::size_t index) noexcept;
  static level& newest_level(std::size_t index) noexcept;
  static void leave_level(std::size_t index) noexcept;
  static void ask(std::size_t at_level, int signal, siginfo_t* info, void* context);
  template <std::size_t Level>
  static void on_signal(int signal, siginfo_t* info, void* context) {
    ask(Level, signal, info, context);
  }
};

}  // namespace situ::os
