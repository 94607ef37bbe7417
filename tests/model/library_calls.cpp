// What a program asks of the C library, by the first argument; prints what came of it. A hang ends after 20 s.
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

// The first to print allocates the stream's buffer under the stream's lock, while the other is as early.
void print_first() {
  const auto when = std::chrono::steady_clock::now() + 1ms;
  const auto print_then = [when](const char* text) {
    std::this_thread::sleep_until(when);
    std::printf("%s\n", text);
  };
  std::jthread one{print_then, "one"};
  std::jthread two{print_then, "two"};
}

void allocate_too_much() {
  void* at = nullptr;
  const int odd = posix_memalign(&at, 48, 100);
  const int small = posix_memalign(&at, 4, 100);
  volatile std::size_t bytes = SIZE_MAX - 10;
  std::printf("%d %d %d\n", odd == EINVAL, small == EINVAL, ::aligned_alloc(64, bytes) == nullptr && errno == ENOMEM);
}

// Looks each millisecond for what nobody changes, or for what another thread changes after 30 seconds.
void look_and_sleep(bool for_ever) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_set = false;
  std::jthread setter{[&] {
    if (for_ever) return;
    std::this_thread::sleep_for(30s);
    const std::lock_guard lock{mutex};
    is_set = true;
  }};
  int looks = 0;
  for (std::unique_lock lock{mutex}; !is_set; ++looks) changed.wait_for(lock, 1ms);
  std::printf("%s\n", looks > 25'000 ? "set" : "too soon");
}

int wait_until(std::time_t seconds) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::jthread poster{[&] {
    std::this_thread::sleep_for(1ms);
    sem_post(&semaphore);
  }};
  const timespec until{seconds, 0};
  return sem_timedwait(&semaphore, &until);
}
// Over at once, and never: 2^64 ns are 18446744073.7 s.
void wait_for_odd_times() { std::printf("%d %d\n", wait_until(-1), wait_until(18'446'744'074)); }

// 1 ms from now, by the clock of the condition's attributes.
void wait_by_clock(clockid_t clock) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, clock);
  pthread_cond_t condition;
  pthread_cond_init(&condition, &attributes);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  timespec until{};
  clock_gettime(clock, &until);
  until.tv_nsec += 1'000'000;
  const auto begin = std::chrono::steady_clock::now();
  pthread_mutex_lock(&mutex);
  const int got = pthread_cond_timedwait(&condition, &mutex, &until);
  pthread_mutex_unlock(&mutex);
  const auto took = std::chrono::steady_clock::now() - begin;
  std::printf("%d %d\n", got == ETIMEDOUT, took > 900us && took < 1100us);
}

void ask_for_cores() { std::printf("%ld %u\n", sysconf(_SC_NPROCESSORS_ONLN), std::thread::hardware_concurrency()); }

void lock_for_a_time() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  std::jthread{[&] {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    ++until.tv_sec;
    std::printf("%d\n", pthread_rwlock_timedrdlock(&lock, &until) == ETIMEDOUT);
  }}.join();
}

int ended = 0;
struct counts_its_end {
  bool is_used = false;
  ~counts_its_end() { ++ended; }
};
thread_local counts_its_end end_of_mine;

void* use_mine(void*) {
  end_of_mine.is_used = true;
  return nullptr;
}

// Detached before, while, and after they run: each thread's variables end.
void detach() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 30; ++i) {
    pthread_t made{};
    pthread_create(&made, i % 3 == 0 ? &attributes : nullptr, &use_mine, nullptr);
    if (i % 3 == 1) pthread_detach(made);
    std::this_thread::sleep_for(1ms);
    if (i % 3 == 2) pthread_detach(made);
  }
  std::printf("%d\n", ended);
}

void spin() {
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, 0);
  pthread_spin_lock(&lock);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "print") print_first();
  if (what == "allocate") allocate_too_much();
  if (what == "look") look_and_sleep(false);
  if (what == "look-for-ever") look_and_sleep(true);
  if (what == "odd-times") wait_for_odd_times();
  if (what == "clocks") wait_by_clock(CLOCK_MONOTONIC), wait_by_clock(CLOCK_REALTIME);
  if (what == "cores") ask_for_cores();
  if (what == "lock-for-a-time") lock_for_a_time();
  if (what == "detach") detach();
  if (what == "spin") spin();
}
