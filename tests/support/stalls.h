// How long the machine keeps a process waiting that could run: what a test adds to a promised time before it says that
// the promise is broken.
//
//   const situ::test::stall_meter stalls;
//   ...
//   EXPECT_TRUE(stalls.allow(took, 1s));    // here, or at a place that was forked or started since
//
// On a quiet machine that is next to nothing, so the promise itself is held there.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#if !defined(SITU_MODEL)  // the time of a modelled machine stands still while its host runs something else
#include "support/forked.h"
#endif

namespace situ::test {

// Each place that lives is told of a loss within this time (docs/design/launch.md, "How a loss is told").
inline constexpr std::chrono::seconds told_within{1};

// Measures from its construction on, by a child process that sleeps for 2 ms again and again: how much later than asked
// for it wakes. (A thread of the test would be in the way of its forks.) All that this process forks can read it, too.
class stall_meter {
 public:
  stall_meter() : shared_{make_shared()} {
#if !defined(SITU_MODEL)
    meter_ = fork_child([this] { measure(); });
#endif
  }
  ~stall_meter() {
#if !defined(SITU_MODEL)
    meter_ = {};  // ends it, while its memory is there
#endif
    ::munmap(shared_, sizeof(shared));
  }
  stall_meter(const stall_meter&) = delete;
  stall_meter& operator=(const stall_meter&) = delete;

  // Forgets the stalls so far.
  void begin() noexcept { shared_->longest_ns.store(0); }
  // Returns the longest stall since then, including one that goes on.
  [[nodiscard]] std::chrono::nanoseconds longest() const noexcept {
    const std::int64_t asleep_since = shared_->asleep_since_ns.load();
    const std::int64_t going_on = asleep_since == 0 ? 0 : now_ns() - asleep_since - pause_ns;
    return std::chrono::nanoseconds{std::max(shared_->longest_ns.load(), going_on)};
  }
  // Returns whether something took no longer than promised, apart from the longest stall.
  [[nodiscard]] testing::AssertionResult allow(std::chrono::nanoseconds took, std::chrono::nanoseconds promised) const {
    const std::chrono::nanoseconds stall = longest();
    if (took <= promised + stall) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it took " << milliseconds(took) << " ms; promised are "
                                       << milliseconds(promised) << " ms, and the longest stall of the machine was "
                                       << milliseconds(stall) << " ms";
  }

 private:
  struct shared {
    std::atomic<std::int64_t> longest_ns{0};
    std::atomic<std::int64_t> asleep_since_ns{0};  // 0: the meter has not begun
  };
  static constexpr std::int64_t pause_ns = 2'000'000;

  static shared* make_shared() {
    void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return new (memory) shared;
  }
  static std::int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static double milliseconds(std::chrono::nanoseconds time) noexcept {
    return static_cast<double>(time.count()) * 1e-6;
  }
  [[noreturn]] void measure() const {
    for (;;) {
      const std::int64_t began = now_ns();
      shared_->asleep_since_ns.store(began);
      std::this_thread::sleep_for(std::chrono::nanoseconds{pause_ns});
      const std::int64_t late = now_ns() - began - pause_ns;
      if (late > shared_->longest_ns.load()) shared_->longest_ns.store(late);
    }
  }

  shared* shared_;
#if !defined(SITU_MODEL)
  os::child meter_;
#endif
};

// The value below which this part of the values lies. pre: there are values.
template <class T>
[[nodiscard]] T quantile(std::vector<T> values, double part) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace situ::test
