// sharing_patterns PATTERN ROUNDS: five ways in which cores share lines, small enough to count misses by hand. Prints
// what the threads computed.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t line_bytes = 64;

void run(int threads, const std::function<void(int)>& body) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(body, i);
}

// Two threads add to words of their own, which are `distance` words apart.
long false_sharing(long rounds, std::size_t distance) {
  alignas(2 * line_bytes) static volatile long words[32];
  run(2, [=](int me) {
    volatile long& word = words[static_cast<std::size_t>(me) * distance];
    for (long i = 0; i < rounds; ++i) word = word + 1;
  });
  return words[0] + words[distance];
}

// Two threads take numbers from a counter whose limit is on the same line.
long counter(long rounds) {
  struct alignas(line_bytes) loop {
    std::atomic<long> next = 0;
    volatile long limit = 0;
  };
  static loop shared;
  static std::array<long, 32> sums;
  shared.limit = rounds;
  run(2, [](int me) {
    long sum = 0;
    for (long at = 0; (at = shared.next.fetch_add(1, std::memory_order_relaxed)) < shared.limit;) sum += at;
    sums[static_cast<std::size_t>(me) * 16] = sum;
  });
  return sums[0] + sums[16];
}

// Two threads take a lock in turn, by luck, and change what is on its line; in between each works on lines of its own.
long moving_lock(long rounds) {
  struct alignas(line_bytes) account {
    std::atomic<bool> is_locked = false;
    volatile long sum = 0;
    volatile long count = 0;
  };
  static account shared;
  run(2, [=](int me) {
    volatile long own[16] = {};
    unsigned random = static_cast<unsigned>(me);
    for (long i = 0; i < rounds; ++i) {
      while (shared.is_locked.exchange(true, std::memory_order_acquire))
        while (shared.is_locked.load(std::memory_order_relaxed)) {}
      shared.sum = shared.sum + me + 1;
      shared.count = shared.count + 1;
      shared.is_locked.store(false, std::memory_order_release);
      random = random * 1103515245 + 12345;
      for (unsigned k = 0; k < ((random >> 16) & 31); ++k) own[k & 15] = own[k & 15] + i;
    }
  });
  return shared.sum + shared.count;
}

// A producer and a consumer: slots of eight bytes, eight of them on a line. The ends are plain words, as in code that
// relies on x86's order: each side reads the other's word until it changes.
long ring(long rounds) {
  constexpr long slots = 64;
  alignas(line_bytes) static volatile long values[slots];
  alignas(line_bytes) static volatile long written = 0;
  alignas(line_bytes) static volatile long read = 0;
  static long sum;
  run(2, [=](int me) {
    if (me == 0) {
      for (long i = 0; i < rounds; ++i) {
        while (i - read == slots) {}
        values[i % slots] = i;
        written = i + 1;
      }
    } else {
      long all = 0;
      for (long i = 0; i < rounds; ++i) {
        while (written == i) {}
        all += values[i % slots];
        read = i + 1;
      }
      sum = all;
    }
  });
  return sum;
}

// Four threads take tasks from a queue under a mutex, work on their own lines, and put results beside each other.
long work_queue(long rounds) {
  static std::mutex mutex;
  static long next = 0;
  static std::vector<long> results;
  results.assign(static_cast<std::size_t>(rounds), 0);
  next = 0;
  run(4, [=](int) {
    volatile long own[64] = {};
    for (;;) {
      long task = 0;
      {
        const std::scoped_lock lock{mutex};
        if (next == rounds) return;
        task = next++;
      }
      const long length = 100 + (task * 7919) % 97;
      for (long k = 0; k < length; ++k) {
        own[k % 64] = own[k % 64] + 1;
        if (k % 16 == 0) results[static_cast<std::size_t>(task)] += task;
      }
    }
  });
  return std::accumulate(results.begin(), results.end(), 0L);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const what = argv[1];
  const long rounds = std::atol(argv[2]);
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  if (is("false_sharing")) std::printf("%ld\n", false_sharing(rounds, 1));
  if (is("apart")) std::printf("%ld\n", false_sharing(rounds, 16));
  if (is("counter")) std::printf("%ld\n", counter(rounds));
  if (is("lock")) std::printf("%ld\n", moving_lock(rounds));
  if (is("ring")) std::printf("%ld\n", ring(rounds));
  if (is("queue")) std::printf("%ld\n", work_queue(rounds));
}
