#include "task/ready_units.h"

#include <algorithm>

namespace situ::detail {
namespace {

constexpr std::uint32_t most_taken = 16;  // most fresh units taken at once

}  // namespace

// The last home is for units without one.
void ready_units::deal(task_nodes& on, std::uint32_t threads, const work_unit* records, std::uint32_t window) {
  records_ = records;
  has_homes_ = on.nodes.size() > 1;
  const std::vector<std::uint32_t> dealt =
      has_homes_ ? threads_of_nodes(on, threads) : std::vector<std::uint32_t>(threads);
  homes_.resize(has_homes_ ? on.nodes.size() + 1 : 1);
  for (auto& each : homes_) each = std::make_unique<ready_home>(window);
  for (const std::uint32_t node : dealt) {
    threads_.push_back(std::make_unique<thread_part>(window, static_cast<std::uint16_t>(node), *homes_[node]));
    homes_[node]->share += 2;
  }
  if (has_homes_) homes_.back()->share = 2 * threads;
}

void ready_units::push_late(work_unit& unit) noexcept {
  ready_home& at = home_of(unit);
  unit.next_late = at.late.load(std::memory_order_relaxed);
  while (!at.late.compare_exchange_weak(unit.next_late, &unit, std::memory_order_acq_rel, std::memory_order_relaxed)) {}
  wake_somebody(at);
}

// --- taking ----------------------------------------------------------------------------------------------------------

std::uint32_t ready_units::take(std::uint32_t thread, int looks) {
  if (has_homes_) return take_at_homes(thread, looks);
  thread_part& part = *threads_[thread];
  const std::uint32_t unit = take_from(part, part.home, 1);
  return unit != no_unit ? unit : steal(thread, false);
}

std::uint32_t ready_units::take_at_homes(std::uint32_t thread, int looks) {
  thread_part& part = *threads_[thread];
  for (ready_home* const from : {&part.home, homes_.back().get()}) {
    const std::uint32_t unit = take_from(part, *from, from == &part.home ? 1 : from->share);
    if (unit == no_unit) continue;
    wake_for_more(part, *from);
    return unit;
  }
  if (const std::uint32_t unit = steal(thread, false); unit != no_unit || looks < looks_before_far) return unit;
  return take_far(thread);
}

__attribute__((always_inline)) inline std::uint32_t ready_units::take_from(thread_part& part, ready_home& from,
                                                                           std::uint32_t late_share) {
  if (from.late.load(std::memory_order_relaxed) != nullptr)
    if (const std::uint32_t unit = take_late(part, from, late_share); unit != no_unit) return unit;
  std::uint32_t some[most_taken];
  const std::uint32_t taken = from.fresh.take(some, most_taken, from.share);
  if (taken == 0) return no_unit;
  for (std::uint32_t i = taken; i-- > 1;) part.own.push(some[i]);  // the oldest comes first
  return some[0];
}

// Takes a single unit, so that the threads of that home still have the others.
std::uint32_t ready_units::take_far(std::uint32_t thread) {
  thread_part& part = *threads_[thread];
  for (const auto& other : homes_) {
    if (other.get() == &part.home) continue;
    std::uint32_t one = no_unit;
    if (other->late.load(std::memory_order_relaxed) != nullptr) one = take_late(part, *other, UINT32_MAX);
    if (one == no_unit && other->fresh.take(&one, 1, 1) == 0) continue;
    wake_for_more(part, *other);
    return one;
  }
  return steal(thread, true);
}

// Takes the oldest 1/share of the late units, but at least one: returns the first, and pushes the others to the
// thread's own queue. The rest are given back.
std::uint32_t ready_units::take_late(thread_part& part, ready_home& from, std::uint32_t share) {
  work_unit* next = from.late.exchange(nullptr, std::memory_order_acquire);
  if (share > 1) next = give_back_late(from, next, share);
  while (next != nullptr) {
    work_unit& unit = *next;
    next = next->next_late;         // before another thread takes the unit, and it ends
    part.own.push(index_of(unit));  // so the oldest comes first
  }
  return part.own.pop();
}

// Gives back all but the oldest units of the list, and returns those. The first of the list stays its first.
work_unit* ready_units::give_back_late(ready_home& to, work_unit* first, std::uint32_t share) noexcept {
  std::uint32_t count = 0;
  for (const work_unit* each = first; each != nullptr; each = each->next_late) ++count;
  if (count < 2) return first;
  work_unit* last = first;
  for (std::uint32_t rest = count - std::max(count / share, 1U); rest > 1; --rest) last = last->next_late;
  work_unit* const kept = last->next_late;
  last->next_late = to.late.load(std::memory_order_relaxed);
  while (!to.late.compare_exchange_weak(last->next_late, first, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  wake_somebody(to);  // a thread that has looked in between has not seen them
  return kept;
}

// Steals from the threads of its node, or from all others.
std::uint32_t ready_units::steal(std::uint32_t thread, bool far) noexcept {
  const auto count = static_cast<std::uint32_t>(threads_.size());
  for (std::uint32_t i = 1; i < count; ++i) {
    thread_part& victim = *threads_[(thread + i) % count];
    if ((&victim.home != &threads_[thread]->home) != far) continue;
    if (const std::uint32_t unit = victim.own.steal(); unit != no_unit) return unit;
  }
  return no_unit;
}

bool ready_units::has_ready() const noexcept {
  for (const auto& each : homes_)
    if (!each->fresh.is_empty() || each->late.load(std::memory_order_seq_cst) != nullptr) return true;
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& each) { return !each->own.is_empty(); });
}

// --- sleeping --------------------------------------------------------------------------------------------------------

void ready_units::wake_somebody(ready_home& near) noexcept {
  if (!threads_order_) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (near.sleepers.load(std::memory_order_relaxed) != 0) {
    near.bell.fetch_add(1, std::memory_order_release);
    wake_on_word(near.bell, 1);
  } else if (has_homes_) {
    wake_far();
  }
}

// Wakes a thread of another node to help, because the threads of the unit's home are awake.
void ready_units::wake_far() noexcept {
  for (const auto& each : homes_) {
    if (each->sleepers.load(std::memory_order_relaxed) == 0) continue;
    each->bell.fetch_add(1, std::memory_order_release);
    wake_on_word(each->bell, 1);
    return;
  }
}

// If there are more units at the home from which a thread has just taken, wakes one sleeper to help, which wakes the
// next in the same way. While a burst of units is added all threads may sleep, and then only the bell of the units'
// home rings.
void ready_units::wake_for_more(const thread_part& part, const ready_home& from) noexcept {
  if (!from.fresh.is_empty() || !part.own.is_empty()) wake_far();
}

void ready_units::wake_owner() noexcept {
  if (!threads_order_) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!owner_sleeps_.load(std::memory_order_relaxed)) return;
  ready_home& home = threads_[0]->home;
  home.bell.fetch_add(1, std::memory_order_release);
  wake_on_word(home.bell, INT32_MAX);
}

void ready_units::wake_all() noexcept {
  for (const auto& each : homes_) {
    each->bell.fetch_add(1, std::memory_order_release);
    wake_on_word(each->bell, INT32_MAX);
  }
}

// --- counting --------------------------------------------------------------------------------------------------------

std::uint64_t ready_units::ended() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& each : threads_) sum += each->ended.load(std::memory_order_acquire);
  return sum;
}

void ready_units::add_to(task_graph_statistics& sum) const noexcept {
  for (const auto& each : threads_) {
    sum.never_run += each->never_run.load(std::memory_order_relaxed);
    sum.taken += each->taken.load(std::memory_order_relaxed);
    sum.far += each->far.load(std::memory_order_relaxed);
  }
}

}  // namespace situ::detail
