// Which pages go, and which are fetched ahead, on traces: held to the same by hand, to Belady's optimum, and to what
// each is for.
#include "rmem/replacement.h"
#include "rmem/page_traces.h"
#include "rmem/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <set>

using situ::rmem::prefetch;
using situ::rmem::replacement;
using namespace situ::rmem::detail;
using namespace situ::studies::rmem;

namespace {

using trace = page_trace;
using frame_number = replacement_policy::frame_number;

std::size_t hits_of(replacement which, const trace& touches, std::uint32_t frames, std::uint32_t pinned = 0) {
  return simulate(touches, {.frames = frames, .replace = which, .pinned_every = pinned}).hits;
}

std::size_t hits_of_fifo(const trace& touches, std::uint32_t frames) {
  std::deque<std::uint64_t> here;
  std::size_t hits = 0;
  for (const std::uint64_t page : touches) {
    if (std::find(here.begin(), here.end(), page) != here.end()) {
      ++hits;
      continue;
    }
    if (here.size() == frames) here.pop_front();
    here.push_back(page);
  }
  return hits;
}

constexpr replacement all_policies[] = {replacement::fifo, replacement::aging, replacement::clock,
                                        replacement::s3_fifo};

TEST(rmem_replacement, fifo_is_fifo) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const trace touches = zipf(200, 0.9, 5000, seed);
    EXPECT_EQ(hits_of(replacement::fifo, touches, 50), hits_of_fifo(touches, 50));
  }
}

// By hand. A page that is touched has to come, so 3 drives out 2, whose next touch is farthest.
TEST(rmem_replacement, belady_knows_the_future) {
  EXPECT_EQ(hits_of_belady({1, 2, 3, 1, 2, 3}, 2), 2U);
  EXPECT_EQ(hits_of_belady({1, 2, 1, 3, 1, 2}, 2), 2U);
  EXPECT_EQ(hits_of_belady({7, 7, 7}, 1), 2U);
  EXPECT_EQ(hits_of_belady(sequential(10, 3), 10), 20U);
}

TEST(rmem_replacement, none_is_better_than_the_optimum_and_all_are_sound) {
  for (const replacement each : all_policies)
    for (const std::uint32_t frames : {1U, 2U, 3U, 16U, 100U, 400U}) {
      const trace touches = zipf(300, 0.9, 4000, frames);
      EXPECT_LE(hits_of(each, touches, frames), hits_of_belady(touches, frames));
    }
}

TEST(rmem_replacement, what_is_touched_again_stays) {
  const trace touches = zipf(2000, 0.9, 60'000, 3);
  const auto optimum = static_cast<double>(hits_of_belady(touches, 200));
  const double fifo = static_cast<double>(hits_of(replacement::fifo, touches, 200)) / optimum;
  EXPECT_GT(static_cast<double>(hits_of(replacement::clock, touches, 200)) / optimum, fifo + 0.03);
  EXPECT_GT(static_cast<double>(hits_of(replacement::aging, touches, 200)) / optimum, fifo + 0.03);
  EXPECT_GT(static_cast<double>(hits_of(replacement::s3_fifo, touches, 200)) / optimum, fifo + 0.05);
}

// A few pages that are touched all the time, and a scan of many: the scan should not drive them out.
TEST(rmem_replacement, a_scan_does_not_drive_out_what_is_hot) {
  trace touches;
  std::mt19937 random{1};
  for (std::uint64_t i = 0; i < 40'000; ++i) touches.push_back(i % 2 == 0 ? 1'000'000 + i : random() % 70);
  const std::size_t hot = 20'000 - 70;
  EXPECT_LT(hits_of(replacement::fifo, touches, 100), hot * 9 / 10);
  EXPECT_GT(hits_of(replacement::s3_fifo, touches, 100), hot * 95 / 100);
}

TEST(rmem_replacement, pinned_frames_stay) {
  for (const replacement each : all_policies) (void)hits_of(each, zipf(300, 0.9, 5000, 9), 64, 2);
}

TEST(rmem_replacement, where_nobody_may_go_nobody_does) {
  for (const replacement each : all_policies) {
    const auto policy = make_replacement_policy(each, 4);
    for (frame_number frame = 0; frame < 4; ++frame) policy->came(frame, frame);
    std::vector<frame_number> watch;
    EXPECT_EQ(policy->choose([](frame_number) { return false; }, watch), replacement_policy::none);
    EXPECT_EQ(policy->choose([](frame_number frame) { return frame == 3; }, watch), 3U);
  }
}

// --- fetching ahead ---

// Faults of a program that touches these pages, where everything that was fetched stays.
struct faults {
  std::size_t missing = 0;
  std::size_t fetched = 0;
};
faults faults_of(prefetch how, const trace& touches, std::uint32_t most = 16) {
  read_ahead ahead{how, most};
  std::set<std::uint64_t> here;
  std::set<std::uint64_t> marks;
  faults counted;
  const auto fetch = [&](const page_run& run) {
    std::vector<std::uint64_t> more;
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t page = run.first + i * run.distance;
      if (page >= 0 && here.insert(static_cast<std::uint64_t>(page)).second)
        more.push_back(static_cast<std::uint64_t>(page));
    }
    EXPECT_LE(run.count, most);
    if (more.size() >= 2) marks.insert(more[more.size() / 2]);
    counted.fetched += more.size();
  };
  for (const std::uint64_t page : touches) {
    if (here.insert(page).second) {
      ++counted.missing;
      ++counted.fetched;
      fetch(ahead.after(page, false));
    } else if (marks.erase(page) != 0) {
      fetch(ahead.after(page, true));
    }
  }
  return counted;
}

trace steps(std::uint64_t first, std::int64_t distance, std::size_t count) {
  trace made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(
        static_cast<std::uint64_t>(static_cast<std::int64_t>(first) + distance * static_cast<std::int64_t>(i)));
  return made;
}

TEST(rmem_read_ahead, runs_are_found) {
  EXPECT_EQ(faults_of(prefetch::none, steps(0, 1, 1000)).missing, 1000U);
  EXPECT_LT(faults_of(prefetch::next, steps(0, 1, 1000)).missing, 3U);
  EXPECT_LT(faults_of(prefetch::majority, steps(0, 1, 1000)).missing, 5U);
  for (const prefetch how : {prefetch::stride, prefetch::majority})
    for (const std::int64_t distance : {1, 3, 17, -1, -5}) {
      const faults counted = faults_of(how, steps(100'000, distance, 1000));
      EXPECT_LT(counted.missing, 8U) << static_cast<int>(how) << ' ' << distance;
      EXPECT_LT(counted.fetched, 1040U);
    }
}

TEST(rmem_read_ahead, touches_here_and_there_fetch_nothing_else) {
  std::mt19937_64 random{5};
  trace touches;
  for (int i = 0; i < 5000; ++i) touches.push_back(random() % 10'000'000);
  for (const prefetch how : {prefetch::stride, prefetch::majority})
    EXPECT_LT(faults_of(how, touches).fetched, 5010U) << static_cast<int>(how);
}

// One touch of five is elsewhere: two of five distances are others, the majority is still one page.
TEST(rmem_read_ahead, the_majority_bears_noise) {
  std::mt19937_64 random{6};
  trace touches;
  for (std::uint64_t i = 0; i < 5000; ++i) touches.push_back(i % 5 == 4 ? 1'000'000 + random() % 10'000'000 : i);
  EXPECT_LT(faults_of(prefetch::majority, touches).missing, 1100U);
  EXPECT_LT(faults_of(prefetch::majority, touches).fetched, 6100U);  // the pages between them, too
}

// Pages far apart in turns: their distances are never one page.
TEST(rmem_read_ahead, streams_in_turns_go_on_each_by_itself) {
  trace touches = steps(0, 1, 20);
  for (std::uint64_t i = 0; i < 20; ++i) touches.push_back(50'000 + i);
  for (std::uint64_t i = 20; i < 1000; ++i) {
    touches.push_back(i);
    touches.push_back(50'000 + i);
  }
  EXPECT_LT(faults_of(prefetch::majority, touches).missing, 20U);
}

}  // namespace
