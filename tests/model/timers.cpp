// Waits for signals of its own timers, in one of several ways, and prints when they came: modelled us since the begin.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <thread>

namespace {

volatile sig_atomic_t alarms = 0;
std::array<long, 16> times{};
long begin_us = 0;
int seen_value = 0;
pthread_t seen_by{};

long now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000 - begin_us;
}

void on_alarm(int) {
  times[static_cast<std::size_t>(alarms) % times.size()] = now_us();
  seen_by = pthread_self();
  alarms = alarms + 1;
}
void on_timer(int number, siginfo_t* info, void*) {
  seen_value = info->si_value.sival_int;
  on_alarm(number);
}

void handle(int signal, int flags = 0) {
  struct sigaction action{};
  action.sa_handler = &on_alarm;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

void set_interval(int which, long first_us, long interval_us) {
  const itimerval time{{0, interval_us}, {0, first_us}};
  setitimer(static_cast<__itimer_which_t>(which), &time, nullptr);
}

void spin_until(int count) {
  for (volatile long i = 0; alarms < count && i < 4'000'000'000; i = i + 1) {}
}

void spin() {
  handle(SIGALRM);
  set_interval(ITIMER_REAL, 2000, 0);
  spin_until(1);
  std::printf("%d %ld\n", static_cast<int>(alarms), times[0]);
}

void repeat() {
  handle(SIGVTALRM);
  set_interval(ITIMER_VIRTUAL, 1000, 500);
  spin_until(4);
  itimerval left{};
  getitimer(ITIMER_VIRTUAL, &left);
  set_interval(ITIMER_VIRTUAL, 0, 0);
  std::printf("%ld %ld %ld %ld %d\n", times[0], times[1], times[2], times[3],
              left.it_value.tv_usec <= 500 && left.it_interval.tv_usec == 500);
}

void sleep_long() {
  handle(SIGALRM, SA_RESTART);
  alarm(1);
  timespec left{};
  const timespec three{3, 0};
  const bool is_interrupted = nanosleep(&three, &left) == -1 && errno == EINTR;
  std::printf("%d %d %ld\n", is_interrupted, left.tv_sec == 2 || left.tv_nsec > 999'000'000, times[0]);
}

void pause_and_cancel() {
  handle(SIGALRM);
  alarm(2);
  pause();
  alarm(10);
  std::printf("%ld %u\n", times[0], alarm(0));
}

// A timer whose signal is blocked for 10.5 ms, at 1 ms each: one signal, nine overruns.
void block_for_a_while() {
  struct sigaction action{};
  action.sa_sigaction = &on_timer;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  event.sigev_value.sival_int = 77;
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const itimerspec every{{0, 1'000'000}, {0, 1'000'000}};
  timer_settime(timer, 0, &every, nullptr);
  usleep(10'500);
  const int before = alarms;
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  const int overruns = timer_getoverrun(timer);
  timer_delete(timer);
  usleep(5000);
  std::printf("%d %d %d %d\n", before, static_cast<int>(alarms), overruns, seen_value);
}

// The main thread blocks the signal, as its threads do then, and one of them waits for it.
void wait_in_a_thread() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  int number = 0;
  long when = 0;
  std::thread waits{[&] {
    sigwait(&set, &number);
    when = now_us();
  }};
  set_interval(ITIMER_REAL, 3000, 0);
  waits.join();
  std::printf("%d %ld\n", number == SIGALRM, when);
}

// Only a thread that does not block a signal takes it.
void choose_thread() {
  handle(SIGALRM);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  std::thread spins{[] { spin_until(1); }};
  const pthread_t other = spins.native_handle();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  set_interval(ITIMER_REAL, 3000, 0);
  spins.join();
  std::printf("%d %ld\n", pthread_equal(seen_by, other), times[0]);
}

sigjmp_buf back;
void leave(int) {
  alarms = alarms + 1;
  siglongjmp(back, 1);
}
void jump() {
  signal(SIGALRM, &leave);
  sigsetjmp(back, 1);
  if (alarms < 3) {
    set_interval(ITIMER_REAL, 1000, 0);
    spin_until(100);
  }
  std::printf("%d %d\n", static_cast<int>(alarms), now_us() >= 3000 && now_us() < 3100);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  begin_us = now_us();
  if (what == "spin") spin();
  if (what == "repeat") repeat();
  if (what == "sleep") sleep_long();
  if (what == "pause") pause_and_cancel();
  if (what == "block") block_for_a_while();
  if (what == "wait") wait_in_a_thread();
  if (what == "choose") choose_thread();
  if (what == "jump") jump();
  if (what == "die") {
    set_interval(ITIMER_REAL, 1000, 0);
    spin_until(1);
  }
}
