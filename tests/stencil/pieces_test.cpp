// Threads that share work by pieces: each piece is done once, epochs follow each other, and nobody who is late is
// waited for, or does anything again.
#include "stencil/pieces.h"

#include <situ/machine/discover.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace situ::stencil;

const situ::machine::tree& this_machine() {
  static const auto found = situ::machine::discover({.devices = false});
  return found;
}

// Pieces of each owner in each epoch, and what became of them.
struct drawn_work {
  int threads, epochs;
  std::vector<int> counts;
  std::vector<std::atomic<int>> done;  // by epoch and owner and piece
  std::vector<int> totals;
  std::vector<std::atomic<int>> finished;

  drawn_work(std::mt19937_64& draw, int of_threads, int of_epochs)
      : threads{of_threads},
        epochs{of_epochs},
        done(static_cast<std::size_t>(of_threads * of_epochs * most)),
        finished(static_cast<std::size_t>(of_epochs)) {
    for (int e = 0; e < epochs; ++e) {
      int total = 0;
      for (int t = 0; t < threads; ++t)
        counts.push_back(draw() % 3 == 0 ? 0 : static_cast<int>(draw() % most)), total += counts.back();
      if (total == 0) counts.back() = total = 1;
      totals.push_back(total);
    }
  }
  static constexpr int most = 6;
  [[nodiscard]] int count(int e, int owner) const { return counts[static_cast<std::size_t>(e * threads + owner)]; }
  void run(int e, int owner, int piece) {
    if (e > 0) {
      EXPECT_EQ(finished[static_cast<std::size_t>(e - 1)].load(), totals[static_cast<std::size_t>(e - 1)])
          << "the epoch before is not over";
    }
    EXPECT_EQ(done[static_cast<std::size_t>((e * threads + owner) * most + piece)].fetch_add(1), 0) << "done twice";
    finished[static_cast<std::size_t>(e)].fetch_add(1);
  }
};

void play(thread_pool& pool, shared_pieces& pieces, drawn_work& work, std::uint64_t seed) {
  const auto first = pieces.first_epoch();
  pool.run_open([&, first](int thread) {
    std::mt19937_64 draw{seed + static_cast<std::uint64_t>(thread)};
    const auto loiter = [&] {
      if (draw() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds{draw() % 300});
    };
    for (int e = 0; e < work.epochs; ++e) {
      if (thread > 0) loiter();
      if (!pieces.finish(
              thread, first + static_cast<std::uint32_t>(e), work.totals[static_cast<std::size_t>(e)],
              [&](int owner) { return work.count(e, owner); },
              [&](int owner, int piece) { loiter(), work.run(e, owner, piece); })) {
        return;
      }
    }
  });
  for (int e = 0; e < work.epochs; ++e)
    EXPECT_EQ(work.finished[static_cast<std::size_t>(e)].load(), work.totals[static_cast<std::size_t>(e)]) << e;
}

TEST(pieces, are_done_once_in_the_order_of_epochs) {
  std::mt19937_64 draw{1};
  for (const int threads : {2, 3, 5}) {
    thread_pool pool{this_machine(), threads, false};
    shared_pieces pieces{pool};
    for (int job = 0; job < 40; ++job) {
      drawn_work work{draw, threads, 1 + static_cast<int>(draw() % 30)};
      play(pool, pieces, work, draw());
      if (job % 4 != 0) continue;  // jobs for all threads in between
      std::vector<std::atomic<int>> came(static_cast<std::size_t>(threads));
      pool.run([&](int thread) { came[static_cast<std::size_t>(thread)].fetch_add(1); });
      for (const auto& c : came) EXPECT_EQ(c.load(), 1);
    }
  }
}

// Whoever takes the first piece holds it until all others are done, those of its own owner among them.
TEST(pieces, that_one_thread_holds_are_all_that_is_waited_for) {
  thread_pool pool{this_machine(), 3, false};
  shared_pieces pieces{pool};
  constexpr int each = 8;
  std::atomic<int> done{0};
  const auto first = pieces.first_epoch();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  std::atomic<int> held_at{-1};
  pool.run_open([&](int thread) {
    (void)pieces.finish(
        thread, first, 3 * each, [each](int) { return each; },
        [&](int owner, int piece) {
          if (owner == 0 && piece == 0) {
            while (done.load() < 3 * each - 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
            held_at.store(done.load());
          }
          done.fetch_add(1);
        });
  });
  EXPECT_EQ(done.load(), 3 * each);
  EXPECT_EQ(held_at.load(), 3 * each - 1) << "some piece waited for another thread";
}

TEST(pieces, failures_of_open_jobs_are_told) {
  thread_pool pool{this_machine(), 2, false};
  EXPECT_THROW(pool.run_open([](int thread) {
    if (thread == 0) throw std::runtime_error{"first"};
  }),
               std::runtime_error);
  std::atomic<int> came{0};
  pool.run_open([&](int) { came.fetch_add(1); });
  EXPECT_GE(came.load(), 1);
  EXPECT_LE(came.load(), 2);
}

}  // namespace
