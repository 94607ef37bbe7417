// A program that knows nothing of Situ: two threads add to a shared number and walk memory of their own. Prints what
// they came to and the modelled time that it took.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

thread_local int rounds_here = 0;  // each thread's own

struct shared {
  std::mutex mutex;
  std::condition_variable changed;
  long sum = 0;
  int turn = 0;
};

// In turn: so each waits for the other in each round.
void work(shared& with, int me, int rounds) {
  std::vector<int> own(1000);
  std::iota(own.begin(), own.end(), me);
  for (int i = 0; i < rounds; ++i, ++rounds_here) {
    long part = 0;
    for (const int each : own) part += each;
    std::unique_lock lock{with.mutex};
    with.changed.wait(lock, [&] { return with.turn == me; });
    with.sum += part;
    with.turn = 1 - me;
    with.changed.notify_one();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  shared with;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::jthread one{work, std::ref(with), 0, rounds};
    std::jthread two{work, std::ref(with), 1, rounds};
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  std::printf("%ld %d %lld\n", with.sum, rounds_here,
              static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
}
