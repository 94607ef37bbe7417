// Stores while the objects move. Place 1 moves batches of them between the two homes all the time. A thread of place 0
// reads each counter, checks that it is the one stored last, and stores the next one; its processor time counts.
// The writer is bound to the first processor, the mover to the other one.
#include <time.h>

#include <atomic>
#include <random>

#include "heap/cases.h"

namespace heap_bench {
namespace {

using job_bench::is_quick;
using job_bench::samples;
using situ::ref;

constexpr std::uint32_t batch = 50;
std::uint32_t object_count() { return is_quick() ? 1000 : 100'000; }
std::uint64_t stores() { return is_quick() ? 100'000 : 12'500'000; }
int rounds() { return is_quick() ? 1 : 8; }  // 1e8 stores while objects move

double processor_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

// The places notify each other by these words within a sample; they are in place 0's segment.
struct flags {
  std::atomic<std::uint32_t> is_moving;  // the mover has begun
  std::atomic<std::uint32_t> is_over;    // the writer is through
};

class writer {
 public:
  explicit writer(std::vector<ref<cell>> objects) : objects_{std::move(objects)}, last_(objects_.size()) {}

  // Returns the nanoseconds of processor time that one store took.
  double run(situ::heap_thread& mine) {
    const auto n = static_cast<std::uint32_t>(objects_.size());
    std::uint64_t x = 88172645463325252;
    const double begin = processor_ns();
    for (std::uint64_t i = 0; i < stores(); i += 16) {
      situ::heap_section section{mine};
      for (int k = 0; k < 16; ++k) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const auto at = static_cast<std::uint32_t>((x >> 32) * n >> 32);
        if (section.load(objects_[at], &cell::value) != last_[at]) ++lost_;
        section.store(objects_[at], &cell::value, ++last_[at]);
      }
    }
    const double took = (processor_ns() - begin) / double(stores());
    situ::heap_section section{mine};
    for (std::uint32_t i = 0; i < n; ++i)
      if (section.load(objects_[i], &cell::value) != last_[i]) ++lost_;
    return took;
  }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  std::vector<ref<cell>> objects_;
  std::vector<std::uint32_t> last_;  // stored into each
  std::uint64_t lost_ = 0;
};

void move_until_over(situ::heap_thread& mine, const std::vector<ref<cell>>& objects, flags& shared) {
  std::vector<ref<>> each(batch);
  for (std::uint64_t turn = 0; shared.is_over.load() == 0; ++turn) {
    const std::size_t batches = objects.size() / batch;
    const std::size_t first = turn % batches * batch;
    for (std::size_t i = 0; i < batch; ++i) each[i] = objects[first + i];
    mine.move(each, situ::place{static_cast<std::uint32_t>((turn / batches + 1) % 2)});
    shared.is_moving.store(1);
  }
}

// By place 0: one sample, on a registered thread, since the place's own one answers place 1's calls.
double write_while(situ::object_heap& heap, writer& by, const std::atomic<std::uint32_t>& may_begin) {
  double took = 0;
  situ::place_threads threads;
  threads.start([&] {
    situ::heap_thread mine{heap, &threads};
    while (may_begin.load() == 0) {}
    took = by.run(mine);
  });
  threads.join();
  return took;
}

// The writer uses the first half of the objects. What moves: nothing, the second half, or the writer's own.
struct sides {
  situ::object_heap& heap;
  situ::heap_thread& mine;
  flags& shared;
  writer& by;

  double take_sample(const std::vector<ref<cell>>& moved) {
    double took = 0;
    const bool is_writer = job_bench::is_first();
    if (is_writer) shared.is_moving.store(moved.empty() ? 1 : 0), shared.is_over.store(0);
    situ::barrier();
    if (is_writer) {
      took = write_while(heap, by, shared.is_moving);
      shared.is_over.store(1);
    } else if (!moved.empty()) {
      move_until_over(mine, moved, shared);
    }
    situ::barrier();
    if (is_writer) mine.collect();  // frees the old copies
    situ::barrier();
    return took;
  }
};

void measure(situ::object_heap& heap, situ::heap_thread& mine, const std::vector<std::uint32_t>& raws, flags& shared) {
  std::vector<ref<cell>> written, others;
  for (std::size_t i = 0; i < raws.size(); ++i) (i < raws.size() / 2 ? written : others).emplace_back(raws[i]);
  writer by{written};
  sides both{heap, mine, shared, by};
  std::vector<samples> all{{"still"}, {"others_move"}, {"moving"}};
  for (int round = -1; round < rounds(); ++round) {
    const double still = both.take_sample({}), beside = both.take_sample(others), moving = both.take_sample(written);
    if (round < 0) continue;
    all[0].ns.push_back(still);
    all[1].ns.push_back(beside);
    all[2].ns.push_back(moving);
  }
  check(by.lost() == 0, "a store was lost while objects moved");
  check(!job_bench::is_first() || heap.counts().collections > 0, "no collection freed what moves left");
  job_bench::print("store_while_moving", all);
}

}  // namespace

void moves() {
  if (!job_bench::is_wanted("store_while_moving")) return;
  situ::object_heap heap{{.collect_after = 0}};
  situ::heap_thread mine{heap};
  std::vector<std::uint32_t> raws(job_bench::is_first() ? 2 * object_count() : 0);
  for (std::uint32_t& each : raws) each = mine.make<cell>().raw();
  mine.add_roots([&](const auto& visit) {
    for (std::uint32_t& each : raws) visit(each);
  });
  if (job_bench::is_first()) mine.collect_own();
  const auto page = situ::broadcast(job_bench::is_first() ? situ::allocate<flags>(1) : situ::ptr<flags>{}, 0);
  if (job_bench::is_first()) new (page.local()) flags{};
  const std::vector<std::uint32_t> all = situ::broadcast(raws, 0);
  measure(heap, mine, all, *page.local());
  situ::barrier();
  if (job_bench::is_first()) situ::deallocate(page);
}

}  // namespace heap_bench
