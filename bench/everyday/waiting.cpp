// Waiting for words, and many small puts, beside the same by hand. Everything lies in place 1's segment, or, where
// place 0 waits, in place 0's.
#include "support/job_samples.h"

#include <situ/situ.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "cases.h"

namespace {

using namespace job_bench;
using clock = std::chrono::steady_clock;
using word = std::atomic_ref<std::uint64_t>;

double ns_since(clock::time_point start) {
  return std::chrono::duration<double, std::nano>(clock::now() - start).count();
}
// What each place offers: words that are told by Situ, by raw stores, and a futex.
struct offered {
  situ::ptr<situ::signal> by_situ;
  situ::ptr<situ::signal> raw;
};
offered there, mine;
bool leads = false;

void spin_until(situ::ptr<situ::signal> of, std::uint64_t value) {
  while (word{of.local()->value}.load(std::memory_order_acquire) != value) {}
}
void store(situ::ptr<situ::signal> to, std::uint64_t value) {
  word{to.local()->value}.store(value, std::memory_order_release);
}
void compute_for(std::chrono::microseconds time) {
  const auto end = clock::now() + time;
  while (clock::now() < end) {}
}

// The low half of the raw word is the futex.
void sleep_until(situ::ptr<situ::signal> of, std::uint64_t value) {
  for (std::uint64_t seen; (seen = word{of.local()->value}.load(std::memory_order_acquire)) != value;)
    ::syscall(SYS_futex, &of.local()->value, FUTEX_WAIT, static_cast<std::uint32_t>(seen), nullptr, nullptr, 0);
}
void wake(situ::ptr<situ::signal> to, std::uint64_t value) {
  store(to, value);
  ::syscall(SYS_futex, &to.local()->value, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// --- a round trip: place 0 tells place 1, which tells place 0
// ----------------------------------------------------------

std::uint64_t situ_round = 0, raw_round = 0;

double balls_by_situ(int count) {
  const auto start = clock::now();
  for (int i = 0; i < count; ++i) {
    ++situ_round;
    if (!leads) situ::wait_until(mine.by_situ, situ_round);
    situ::send_signal(there.by_situ, situ_round);
    if (leads) situ::wait_until(mine.by_situ, situ_round);
  }
  return ns_since(start) / count;
}
double balls_by_hand(int count) {
  const auto start = clock::now();
  for (int i = 0; i < count; ++i) {
    ++raw_round;
    if (!leads) spin_until(mine.raw, raw_round);
    store(there.raw, raw_round);
    if (leads) spin_until(mine.raw, raw_round);
  }
  return ns_since(start) / count;
}

// --- the same where place 1 sleeps by then
// ----------------------------------------------------------------------------

constexpr std::chrono::microseconds until_asleep{300};

double wake_by_situ() {
  ++situ_round;
  if (!leads) {
    situ::wait_until(mine.by_situ, situ_round);
    store(there.by_situ, situ_round);
    return 0;
  }
  compute_for(until_asleep);
  const auto start = clock::now();
  situ::send_signal(there.by_situ, situ_round);
  spin_until(mine.by_situ, situ_round);
  return ns_since(start);
}
double wake_by_hand() {
  ++raw_round;
  if (!leads) {
    sleep_until(mine.raw, raw_round);
    store(there.raw, raw_round);
    return 0;
  }
  compute_for(until_asleep);
  const auto start = clock::now();
  wake(there.raw, raw_round);
  spin_until(mine.raw, raw_round);
  return ns_since(start);
}

// --- puts
// -------------------------------------------------------------------------------------------------------------

constexpr std::size_t put_count = 1'000'000;
situ::ptr<std::uint64_t> target;
std::vector<std::uint32_t> successive, shuffled;

double puts_by_futures(const std::vector<std::uint32_t>& order) {
  const auto start = clock::now();
  for (std::size_t i = 0; i < put_count; ++i) (void)situ::put_async(target + order[i], i);
  return ns_since(start) / put_count;
}
double puts_by_batch(const std::vector<std::uint32_t>& order) {
  const auto start = clock::now();
  situ::access_batch batch;
  for (std::size_t i = 0; i < put_count; ++i) batch.put(target + order[i], i);
  batch.complete();
  return ns_since(start) / put_count;
}
double puts_by_hand(const std::vector<std::uint32_t>& order) {
  std::uint64_t* const words = target.local();
  const auto start = clock::now();
  for (std::size_t i = 0; i < put_count; ++i) {
    words[order[i]] = i;
    asm volatile("" ::: "memory");
  }
  return ns_since(start) / put_count;
}

// ----------------------------------------------------------------------------------------------------------------------

// Both places take part; place 0 prints.
template <class Raw, class Situ>
void measure_pair(const char* case_name, int count, samples raw, Raw by_hand, samples own, Situ by_situ) {
  situ::barrier();
  for (int i = 0; i < (is_quick() ? 3 : count); ++i) {
    own.ns.push_back(by_situ());
    raw.ns.push_back(by_hand());
  }
  print(case_name, {raw, own});
}

void measure_puts(const char* case_name, const std::vector<std::uint32_t>& order) {
  situ::barrier();
  if (!leads) return;
  puts_by_hand(order);  // touches the pages
  samples raw{"raw"}, futures{"put_async"}, batch{"batch"};
  for (int i = 0; i < (is_quick() ? 1 : 15); ++i) {
    futures.ns.push_back(puts_by_futures(order));
    batch.ns.push_back(puts_by_batch(order));
    raw.ns.push_back(puts_by_hand(order));
  }
  print(case_name, {raw, futures, batch});
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::place_count() != 2) {
    std::fprintf(stderr, "situ_bench_waiting: two places (situ run -n 2)\n");
    return 2;
  }
  leads = situ::here().index() == 0;
  mine = {situ::allocate_signals(), situ::allocate_signals()};
  const auto all = situ::all_gather(mine);
  there = all[1 - situ::here().index()];
  target = situ::broadcast(leads ? nullptr : situ::allocate<std::uint64_t>(put_count), 1);
  successive.resize(put_count);
  std::iota(successive.begin(), successive.end(), 0U);
  shuffled = successive;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937{1});

  if (is_wanted("wait_awake"))
    measure_pair(
        "wait_awake", 200, {"raw"}, [] { return balls_by_hand(200); }, {"situ"}, [] { return balls_by_situ(200); });
  if (is_wanted("wait_asleep")) measure_pair("wait_asleep", 2000, {"futex"}, &wake_by_hand, {"situ"}, &wake_by_situ);
  if (is_wanted("puts_successive")) measure_puts("puts_successive", successive);
  if (is_wanted("puts_random")) measure_puts("puts_random", shuffled);
  if (is_wanted("jacobi_by_flags")) everyday::measure_flags();
  print_end();
  situ::barrier();
  if (!leads) situ::deallocate(target);
  situ::deallocate(mine.by_situ);
  situ::deallocate(mine.raw);
}
