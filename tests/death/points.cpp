#include "death/points.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <new>

#include "support/forked.h"

namespace situ::test_points {
namespace {

[[noreturn]] void kill_self() noexcept {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

void on_alarm(int) {
  shared().died_at_ns.store(now_ns());
  kill_self();
}

[[noreturn]] void die(death how) {
  shared().died_at_ns.store(now_ns());
  if (how == death::killed) kill_self();
  // The last words of hundreds of places would hide the test's own.
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
    test::copy_descriptor(nowhere, STDERR_FILENO);
#if defined(__SANITIZE_ADDRESS__)
  if (how == death::exited) ::_exit(3);  // without a search for leaks
#else
  if (how == death::exited) std::exit(3);
#endif
  throw died{};
}

void die_after(std::chrono::microseconds time) {
  struct sigaction action{};
  action.sa_handler = &on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval alarm{{}, {time.count() / 1'000'000, time.count() % 1'000'000 + 1}};
  ::setitimer(ITIMER_REAL, &alarm, nullptr);
}

constexpr std::string_view point_names[] = {
#define SITU_NAME(name) #name,
    SITU_TEST_POINT_LIST(SITU_NAME)};
constexpr std::string_view check_names[] = {SITU_LOSS_CHECK_LIST(SITU_NAME)};
#undef SITU_NAME

}  // namespace

record& shared() {
  static record* const made =
      new (::mmap(nullptr, sizeof(record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) record;
  return *made;
}

void begin_launch(const plan& next) {
  record& launch = *new (&shared()) record;
  launch.next = next;
  launch.driver = ::getpid();
}

void pass(point here) {
  record& launch = shared();
  if (::getpid() == launch.driver) return;
  if (here == point::base_mapped && launch.joining.fetch_add(1) == launch.next.victim) die_after(launch.next.after);
  const std::uint64_t occurrence = launch.passes[static_cast<std::size_t>(here)].fetch_add(1) + 1;
  for (const strike& each : {launch.next.at, launch.next.also_at})
    if (each.where == here && each.occurrence == occurrence) die(each.how);
}

bool is_on(check which) noexcept { return shared().next.without != which; }

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string_view name_of(point which) noexcept {
  return which == point::count ? "any moment" : point_names[static_cast<std::size_t>(which)];
}
std::string_view name_of(check which) noexcept {
  return which == check::count ? "none" : check_names[static_cast<std::size_t>(which)];
}

std::string_view name_of(death how) noexcept {
  switch (how) {
    case death::killed: return "killed";
    case death::exited: return "exited";
    case death::threw: return "threw";
  }
  return "";
}

}  // namespace situ::test_points
