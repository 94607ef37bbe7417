#include "os/fault_chain.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "support/forked.h"
#include "support/sanitized.h"

using situ::os::fault_chain;
using situ::os::fault_event;
using situ::os::fault_link;
using situ::os::fault_rank;

namespace {

constexpr std::size_t page = 4096;

// Returns the exit code of a child that runs `body`, or 128 and the signal that ended it.
template <class Body>
int in_a_child(Body body) {
  return situ::test::code_of(situ::test::in_forked_child(
      [&] {
        ::prctl(PR_SET_DUMPABLE, 0);  // no core file
        body();
      },
      {.seconds = 60}));
}

void touch(volatile std::byte* at) { *at = std::byte{1}; }
void fault() { touch(reinterpret_cast<volatile std::byte*>(std::uintptr_t{64})); }

// A page without access; `serve` gives it.
struct closed_page {
  std::byte* const at =
      static_cast<std::byte*>(::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  volatile int served = 0;

  bool serve(const fault_event& event) {
    if (event.address() - reinterpret_cast<std::uintptr_t>(at) >= page) return false;
    served = served + 1;
    errno = ENODATA;
    return ::mprotect(at, page, PROT_READ | PROT_WRITE) == 0;
  }
  void close() const { ::mprotect(at, page, PROT_NONE); }
};
closed_page first, second;
constinit fault_link first_link{
    fault_rank::serves, {SIGSEGV}, [](const fault_event& event) noexcept { return first.serve(event); }};
constinit fault_link second_link{
    fault_rank::serves, {SIGSEGV}, [](const fault_event& event) noexcept { return second.serve(event); }};

volatile int explained = 0;
volatile bool ends = false;
constinit fault_link explaining_link{fault_rank::explains, {SIGSEGV, SIGBUS}, [](const fault_event& event) noexcept {
                                       explained = explained + 1;
                                       ends = event.ends_process;
                                       return false;
                                     }};

struct sigaction action_of(int signal) {
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  return now;
}
void set_handler(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
}

// --- links -----------------------------------------------------------------------------------------------------------

TEST(fault_chain, links_serve_their_own_addresses) {
  const int code = in_a_child([] {
    fault_chain::add(first_link);
    fault_chain::add(explaining_link);
    fault_chain::add(second_link);
    errno = EDOM;
    touch(first.at);
    if (errno != EDOM) ::_exit(2);
    touch(second.at);
    second.close();
    touch(second.at + 100);
    ::_exit(first.served == 1 && second.served == 2 && explained == 0 ? 42 : 1);
  });
  EXPECT_EQ(code, 42);
}

TEST(fault_chain, removed_links_are_not_asked) {
  const int code = in_a_child([] {
    set_handler([](int) { ::_exit(first.served == 1 && explained == 1 ? 42 : 1); });
    fault_chain::add(explaining_link);
    fault_chain::add(first_link);
    fault_chain::add(first_link);
    fault_chain::remove(first_link);  // one user is left
    touch(first.at);
    fault_chain::remove(first_link);
    first.close();
    touch(first.at);
  });
  EXPECT_EQ(code, 42);
}

sigjmp_buf back;
constinit fault_link leaving_link{
    fault_rank::serves, {SIGSEGV}, [](const fault_event&) noexcept -> bool { ::siglongjmp(back, 1); }};

TEST(fault_chain, a_link_may_jump_out_of_the_handler) {
  const int code = in_a_child([] {
    static volatile int jumps = 0;
    fault_chain::add(leaving_link);
    if (sigsetjmp(back, 1) != 0) jumps = jumps + 1;
    if (jumps < 2) fault();
    ::_exit(jumps == 2 ? 42 : 1);
  });
  EXPECT_EQ(code, 42);
}

volatile bool has_trapped = false;
constinit fault_link stepping_link{fault_rank::serves, {SIGSEGV, SIGTRAP}, [](const fault_event& event) noexcept {
                                     event.set_single_step(event.signal == SIGSEGV);
                                     if (event.signal == SIGSEGV) return event.is_write() && first.serve(event);
                                     first.close();
                                     has_trapped = true;
                                     return true;
                                   }};

TEST(fault_chain, a_link_may_step_over_one_instruction) {
  const int code = in_a_child([] {
    fault_chain::add(stepping_link);
    touch(first.at);
    touch(first.at);
    ::_exit(has_trapped && first.served == 2 ? 42 : 1);
  });
  EXPECT_EQ(code, 42);
}

// --- what follows if none serves -------------------------------------------------------------------------------------

TEST(fault_chain, the_handler_from_before_is_called_if_no_link_serves) {
  const int code = in_a_child([] {
    set_handler([](int) { ::_exit(first.served == 0 && explained == 1 && !ends ? 42 : 1); });
    fault_chain::add(explaining_link);
    fault_chain::add(first_link);
    fault();
  });
  EXPECT_EQ(code, 42);
}

template <class Body>
int with_links_in_a_child(Body body) {
  return in_a_child([&] {
    for (const int signal : {SIGSEGV, SIGBUS, SIGTRAP}) ::signal(signal, SIG_DFL);
    fault_chain::add(explaining_link);
    fault_chain::add(first_link);
    fault_chain::add(stepping_link);
    body();
  });
}

TEST(fault_chain, the_default_action_ends_the_process) {
  if (situ::test::with_sanitizer) GTEST_SKIP() << "sanitizers have handlers of their own";
  EXPECT_EQ(with_links_in_a_child([] { fault(); }), 128 + SIGSEGV);
  EXPECT_EQ(with_links_in_a_child([] { ::raise(SIGSEGV); }), 128 + SIGSEGV);
  EXPECT_EQ(with_links_in_a_child([] { ::raise(SIGBUS); }), 128 + SIGBUS);
  EXPECT_EQ(in_a_child([] {
              static constinit fault_link passing_link{
                  fault_rank::serves, {SIGTRAP}, [](const fault_event&) noexcept { return false; }};
              fault_chain::add(passing_link);
              asm volatile("int3");
            }),
            128 + SIGTRAP);
}

TEST(fault_chain, a_sent_signal_that_the_program_ignores_is_ignored) {
  const int code = in_a_child([] {
    set_handler(SIG_IGN);
    fault_chain::add(first_link);
    ::raise(SIGSEGV);
    touch(first.at);  // the chain is there still
    ::_exit(42);
  });
  EXPECT_EQ(code, 42);
}

// --- handlers of the program -----------------------------------------------------------------------------------------

TEST(fault_chain, goes_with_its_last_link) {
  const int code = in_a_child([] {
    set_handler([](int) { ::_exit(42); });
    fault_chain::add(explaining_link);
    fault_chain::add(first_link);
    fault_chain::remove(explaining_link);
    if ((action_of(SIGSEGV).sa_flags & SA_SIGINFO) == 0) ::_exit(1);
    fault_chain::remove(first_link);
    if ((action_of(SIGSEGV).sa_flags & SA_SIGINFO) != 0) ::_exit(2);
    fault();
  });
  EXPECT_EQ(code, 42);
}

struct sigaction chains;
volatile int passed_on = 0;
void put_a_handler_in_front() {
  struct sigaction action{};
  action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    passed_on = passed_on + 1;
    chains.sa_sigaction(signal, info, context);
  };
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, &chains);
}

TEST(fault_chain, a_handler_in_front_may_call_it) {
  const int code = in_a_child([] {
    fault_chain::add(first_link);
    put_a_handler_in_front();
    fault_chain::add(first_link);  // it is there already, and stays behind
    touch(first.at);
    ::_exit(first.served == 1 && passed_on == 1 ? 42 : 1);
  });
  EXPECT_EQ(code, 42);
}

TEST(fault_chain, a_handler_in_front_that_calls_it_is_no_circle) {
  const int code = in_a_child([] {
    set_handler([](int) { ::_exit(passed_on == 1 && explained == 1 && first.served == 1 ? 42 : 1); });
    fault_chain::add(first_link);
    put_a_handler_in_front();
    const struct sigaction programs = action_of(SIGSEGV);
    for (int i = 0; i < 10; ++i) {
      fault_chain::remove(first_link);
      if (action_of(SIGSEGV).sa_sigaction != programs.sa_sigaction) ::_exit(2);
      fault_chain::add(first_link);  // in front of the program's handler
    }
    fault_chain::add(explaining_link);
    touch(first.at);
    if (passed_on != 0) ::_exit(3);
    fault_chain::remove(first_link);
    first.close();
    explained = 0;
    touch(first.at);
  });
  EXPECT_EQ(code, 42);
}

TEST(fault_chain, stays_behind_handlers_without_end) {
  const int code = in_a_child([] {
    static int handlers = 0;
    for (; handlers < 20; ++handlers) {
      fault_chain::add(first_link);
      set_handler([](int) { ::_exit(42); });
      fault_chain::remove(first_link);
    }
    fault();
  });
  EXPECT_EQ(code, 42);
}

// --- forks -----------------------------------------------------------------------------------------------------------

TEST(fault_chain, a_forked_child_adds_links_while_its_parent_does) {
  fault_chain::allow_in_forked_children();
  static bool adds_in_children = false;
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, [] {
    if (adds_in_children) fault_chain::add(second_link);
  });
  adds_in_children = true;
  std::atomic<bool> is_over{false};
  std::thread other{[&] {
    while (!is_over.load()) {
      fault_chain::add(first_link);
      fault_chain::remove(first_link);
    }
  }};
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(in_a_child([] {
                touch(second.at);
                ::_exit(second.served == 1 ? 42 : 1);
              }),
              42);
  adds_in_children = false;
  is_over.store(true);
  other.join();
}

}  // namespace
