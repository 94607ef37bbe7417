// What goes wrong, and what may seem to: "destructor" is a thread that a static destructor wakes and joins. "deadlock"
// is two threads that lock two mutexes in different orders, "crash" a write to nowhere on a second thread, "fork" a
// second process. "stack" is main, and a second thread, with 40 MiB of frames.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

std::mutex first;
std::mutex second;

void lock_both(std::mutex& one, std::mutex& other) {
  const std::lock_guard mine{one};
  std::this_thread::sleep_for(std::chrono::microseconds{10});
  const std::lock_guard yours{other};
}

[[gnu::noinline]] void write_to(volatile int* nowhere) { *nowhere = 1; }

[[gnu::noinline]] int use_stack(int frames) {
  volatile char frame[64 << 10];
  frame[0] = 1;
  return frames == 0 ? 0 : use_stack(frames - 1) + frame[0];
}

// Lives longer than main.
struct sleeper {
  std::mutex mutex;
  std::condition_variable changed;
  bool may_end = false;
  std::thread thread;
  void sleep() {
    std::unique_lock held{mutex};
    changed.wait(held, [&] { return may_end; });
    std::puts("ends");
  }
  ~sleeper() {
    if (!thread.joinable()) return;
    {
      const std::lock_guard held{mutex};
      may_end = true;
    }
    changed.notify_one();
    thread.join();
    std::puts("joined");
  }
};
sleeper late;

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "fork") == 0) return ::fork() < 0 ? 0 : 1;  // a program's own
  if (std::strcmp(what, "crash") == 0) std::jthread{[] { write_to(nullptr); }};
  if (std::strcmp(what, "stack") == 0) {
    constexpr int of_40_mib = 640;
    std::printf("main %d\n", use_stack(of_40_mib));
    std::jthread{[] { std::printf("thread %d\n", use_stack(of_40_mib)); }};
  }
  if (std::strcmp(what, "deadlock") == 0) {
    std::jthread one{[] { lock_both(first, second); }};
    std::jthread two{[] { lock_both(second, first); }};
  }
  if (std::strcmp(what, "destructor") == 0) late.thread = std::thread{[] { late.sleep(); }};
  return 0;
}
