#include "os/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "os/signals.h"

namespace situ::os {
namespace {

child start_shell(const std::string& command, int output = program::inherited, int errors = program::inherited) {
  const exec_texts arguments{{"sh", "-c", command}};
  return child::start({.file = "/bin/sh", .arguments = arguments, .output = output, .errors = errors});
}

TEST(child, reports_that_there_is_no_such_program) {
  const exec_texts arguments{{"none"}};
  errno = 0;
  EXPECT_FALSE(child::start({.file = "/none", .arguments = arguments}));
  EXPECT_EQ(errno, ENOENT);
}

TEST(child, reports_failures_of_forked_children_by_their_numbers) {
  const exec_texts arguments{{"none"}};
  start_failures failures;
  ASSERT_TRUE(failures);
  child started = child::start({.file = "/none", .arguments = arguments}, {}, failures, 7);
  ASSERT_TRUE(started);
  const auto failure = failures.wait();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, ENOENT);
  EXPECT_EQ(failure->number, 7u);
  EXPECT_EQ(started.wait().code, 127);
}

TEST(child, reports_that_it_could_not_prepare_itself) {
  const exec_texts arguments{{"true"}};
  start_failures failures;
  const auto refuse = [] {
    errno = EDOM;
    return false;
  };
  child started = child::start({.file = "/bin/true", .arguments = arguments}, {.in_child = refuse}, failures);
  const auto failure = failures.wait();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, EDOM);
}

TEST(child, is_looked_for_in_the_path_if_told_so) {
  const exec_texts arguments{{"true"}};
  EXPECT_FALSE(child::start({.file = "true", .arguments = arguments}));
  EXPECT_TRUE(child::start({.file = "true", .arguments = arguments, .is_in_path = true}).wait().is_success());
  start_failures failures;
  child forked = child::start({.file = "true", .arguments = arguments, .is_in_path = true}, {}, failures);
  EXPECT_FALSE(failures.wait());
  EXPECT_TRUE(forked.wait().is_success());
}

TEST(child, has_an_exit_code_or_a_signal) {
  exit_status how = start_shell("exit 3").wait();
  EXPECT_EQ(how.code, 3);
  EXPECT_EQ(how.signal, 0);
  EXPECT_EQ(how.shell_code(), 3);
  EXPECT_FALSE(how.is_success());
  how = start_shell("kill -USR1 $$").wait();
  EXPECT_EQ(how.signal, SIGUSR1);
  EXPECT_EQ(how.shell_code(), 128 + SIGUSR1);
  EXPECT_FALSE(how.is_success());
  EXPECT_TRUE(start_shell("exit 0").wait().is_success());
}

TEST(child, has_its_own_environment_and_mask) {
  constexpr std::string_view without[] = {"PATH"};
  for (const std::string& each : own_environment(without)) EXPECT_FALSE(each.starts_with("PATH="));
  const exec_texts arguments{{"sh", "-c", "test \"$SAID\" = yes && kill -USR1 $$"}};
  exec_texts environment{{"SAID=no"}};
  environment.replace_last("SAID=yes");
  const passed_signals held;
  EXPECT_EQ(child::start(
                {.file = "/bin/sh", .arguments = arguments, .environment = &environment, .mask = &held.mask_before()})
                .wait()
                .signal,
            SIGUSR1);
}

TEST(child, is_watched_until_a_signal_ends_it) {
  child sleeper = start_shell("exec sleep 100");
  ASSERT_TRUE(sleeper);
  ASSERT_EQ(sleeper.watch(), 0);
  EXPECT_FALSE(sleeper.is_over());
  EXPECT_FALSE(sleeper.try_wait());
  sleeper.send(SIGTERM);
  if (sleeper.end() >= 0) {
    pollfd look{sleeper.end(), POLLIN, 0};
    EXPECT_EQ(::poll(&look, 1, 20'000), 1);
    EXPECT_TRUE(sleeper.is_over());
  }
  EXPECT_EQ(sleeper.wait().signal, SIGTERM);
  EXPECT_FALSE(sleeper);
}

TEST(child, ends_with_its_owner) {
  pid_t process = -1;
  {
    child first = start_shell("exec sleep 100");
    const child second{std::move(first)};
    EXPECT_FALSE(first);
    process = second.id();
  }
  EXPECT_EQ(::kill(process, 0), -1);
}

TEST(child, that_others_have_waited_for_has_an_unknown_end) {
  child gone = start_shell("exit 3");
  child same{gone.id()};
  EXPECT_EQ(same.wait().code, 3);
  EXPECT_FALSE(gone.wait().is_known);
}

TEST(output_capture, has_both_streams) {
  output_capture streams;
  ASSERT_TRUE(streams);
  child shell =
      start_shell("echo out; echo err >&2; head -c 200000 /dev/zero", streams.output_end(), streams.errors_end());
  EXPECT_TRUE(streams.read_until_closed({}));
  EXPECT_EQ(streams.output().substr(0, 4), "out\n");
  EXPECT_EQ(streams.output().size(), 200'004u);
  EXPECT_EQ(streams.errors(), "err\n");
  EXPECT_TRUE(shell.wait().is_success());
}

TEST(output_capture, stops_when_told) {
  output_capture streams;
  child shell = start_shell("echo begun; exec sleep 100", streams.output_end(), streams.errors_end());
  EXPECT_FALSE(streams.read_until_closed([&] { return streams.output() == "begun\n"; }));
  shell.send(SIGTERM);
  EXPECT_EQ(shell.wait().signal, SIGTERM);
}

TEST(child, forked_runs_the_body) {
  EXPECT_EQ(child::fork([] { return 3; }).wait().code, 3);
  const int own = 5;
  EXPECT_EQ(child::fork([&] { return own; }, SIGKILL).wait().code, 5);
  EXPECT_EQ(child::fork([] {
              ::raise(SIGKILL);
              return 0;
            })
                .wait()
                .signal,
            SIGKILL);
}

TEST(child, forked_ends_with_its_parent) {
  pipe_ends ends = pipe_ends::make();
  child parent = child::fork([&] {
    child grandchild = child::fork(
        [] {
          ::pause();
          return 0;
        },
        SIGKILL);
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  ends.write.close();
  char none = 0;
  EXPECT_EQ(::read(ends.read.number(), &none, 1), 0);  // the grandchild had the other end
}

TEST(child, becomes_a_program_or_tells_why_not) {
  EXPECT_EQ(child::fork([] { return become_program("/bin/sh", {"sh", "-c", "exit 4"}); }).wait().code, 4);
  EXPECT_EQ(become_program("/none", {"none"}), ENOENT);
}

TEST(child, may_leave_its_parent) {
  const pipe_ends ends = pipe_ends::make();
  child first = child::fork([&] {
    continue_in_child();
    const pid_t own = ::getpid();
    return ::write(ends.write.number(), &own, sizeof own) == sizeof own ? 0 : 1;
  });
  const pid_t forked = first.id();
  EXPECT_TRUE(first.wait().is_success());
  pid_t other = 0;
  ASSERT_EQ(::read(ends.read.number(), &other, sizeof other), static_cast<ssize_t>(sizeof other));
  EXPECT_NE(other, forked);
}

TEST(child, that_has_ended_is_found_among_all) {
  EXPECT_EQ(find_ended_child(), -1);
  EXPECT_EQ(errno, ECHILD);
  child sleeper = start_shell("exec sleep 100");
  EXPECT_EQ(find_ended_child(), 0);
  child other = start_shell("exit 3");
  EXPECT_EQ(await_ended_child(), other.id());
  EXPECT_EQ(find_ended_child(), other.id());
  drop_ended_child(sleeper.id());  // does nothing
  EXPECT_FALSE(sleeper.is_over());
  drop_ended_child(other.id());
  EXPECT_EQ(find_ended_child(), 0);
  const exit_status unknown = other.wait();
  EXPECT_FALSE(unknown.is_known);
  EXPECT_FALSE(unknown.is_success());
}

TEST(run_and_capture, has_the_output_and_the_end) {
  const exec_texts arguments{{"sh", "-c", "head -c 200000 /dev/zero; echo end; exit 3"}};
  const auto got = run_and_capture({.file = "/bin/sh", .arguments = arguments});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output.size(), 200'004u);
  EXPECT_TRUE(got->output.ends_with("end\n"));
  EXPECT_EQ(got->end.code, 3);
  errno = 0;
  EXPECT_FALSE(run_and_capture({.file = "/none", .arguments = arguments}));
  EXPECT_EQ(errno, ENOENT);
}

TEST(signal_actions, are_set_and_restored) {
  static volatile sig_atomic_t got = 0;
  const struct sigaction before = handle_signal(SIGUSR2, [](int signal) { got = signal; });
  EXPECT_FALSE(is_ignored(SIGUSR2));
  ::raise(SIGUSR2);
  EXPECT_EQ(got, SIGUSR2);
  const struct sigaction plain =
      handle_signal(SIGUSR2, [](int, siginfo_t* info, void*) { got = info->si_code; }, SA_RESTART);
  got = 1;
  ::kill(::getpid(), SIGUSR2);
  EXPECT_EQ(got, SI_USER);
  restore_action(SIGUSR2, plain);
  ::raise(SIGUSR2);
  EXPECT_EQ(got, SIGUSR2);
  ignore_signal(SIGUSR2);
  EXPECT_TRUE(is_ignored(SIGUSR2));
  ::raise(SIGUSR2);
  reset_signal(SIGUSR2);
  EXPECT_FALSE(is_ignored(SIGUSR2));
  EXPECT_EQ(child::fork([] { return ::raise(SIGUSR2); }).wait().signal, SIGUSR2);
  restore_action(SIGUSR2, before);
}

TEST(signal_actions, blocked_signals_wait) {
  static volatile sig_atomic_t got = 0;
  const struct sigaction before = handle_signal(SIGUSR2, [](int) { got = got + 1; });
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  block_signal(SIGUSR2);
  ::raise(SIGUSR2);
  EXPECT_EQ(got, 0);
  unblock_signal(SIGUSR2);
  EXPECT_EQ(got, 1);
  block_signal(SIGUSR2);
  ::raise(SIGUSR2);
  set_signal_mask(mask);
  EXPECT_EQ(got, 2);
  restore_action(SIGUSR2, before);
}

TEST(passed_signals, are_read_instead_of_handled) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const passed_signals signals;
    EXPECT_FALSE(signals.next());
    ::raise(SIGHUP);
    const auto got = signals.next();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, SIGHUP);
    EXPECT_FALSE(got->is_from_kernel);
    ::raise(SIGTERM);  // dropped
  }
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGTERM), ::sigismember(&before, SIGTERM));
}

}  // namespace
}  // namespace situ::os
