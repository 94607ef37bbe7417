#include "graph/agent.h"

#include <situ/base/error.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace situ::detail {
namespace {

constexpr int looks_before_sleep = 200;

[[nodiscard]] offload_queue& queue_of(offload_entry& entry) noexcept {
  return *reinterpret_cast<offload_queue*>(reinterpret_cast<std::byte*>(&entry - entry.index) - offsetof(offload_queue, entries));
}

[[nodiscard]] bool is_agents(offload_step step) noexcept { return step == offload_step::measure || step == offload_step::copy; }

}  // namespace

void offload_queue::request(offload_entry& entry, offload_step step) noexcept {
  entry.ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
  entry.step.store(step, std::memory_order_seq_cst);
  bell.fetch_add(1, std::memory_order_seq_cst);
  if (asleep.load(std::memory_order_seq_cst) != 0) futex_wake(bell, 1);
}

offload_agent::offload_agent(place_context& context) : control_{*context.job}, place_{context.place} {
  const char* const staged = std::getenv("SITU_OFFLOAD_STAGED");
  staged_ = staged != nullptr && std::string_view{staged} == "1";
  const ptr<std::byte> room = situ::allocate_bytes(sizeof(offload_queue), {.alignment = alignof(offload_queue)});
  queue_ = ptr<offload_queue>{new (room.local()) offload_queue};
  for (std::uint32_t i = 0; i < offload_queue::entry_count; ++i) queue_.local()->entries[i].index = i;
  for (auto& plan : plans_) plan = std::make_unique<graph_plan>();
  thread_ = std::thread{[this] { run(); }};
}

offload_agent::~offload_agent() {
  stopping_.store(true);
  queue_.local()->bell.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(queue_.local()->bell, 1);
  thread_.join();
  try {
    deallocate(queue_);
  } catch (const error&) {  // only where the heap is damaged; the segment goes in a moment
  }
}

void offload_agent::run() {
  offload_queue& queue = *queue_.local();
  int looks = 0;
  while (true) {
    const std::uint32_t seen = queue.bell.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    if (serve_next()) {
      looks = 0;
      continue;
    }
    if (++looks < looks_before_sleep && !control_.oversubscribed) continue;
    queue.asleep.store(1, std::memory_order_seq_cst);
    if (queue.bell.load(std::memory_order_seq_cst) == seen) futex_wait(queue.bell, seen, -1);
    queue.asleep.store(0, std::memory_order_relaxed);
  }
}

// Invariant 2: the oldest request first.
bool offload_agent::serve_next() {
  offload_queue& queue = *queue_.local();
  std::size_t oldest = offload_queue::entry_count;
  offload_step step = offload_step::free;
  for (std::size_t i = 0; i < offload_queue::entry_count; ++i) {
    const offload_step found = queue.entries[i].step.load(std::memory_order_acquire);
    if (!is_agents(found) || (oldest != offload_queue::entry_count && queue.entries[i].ticket > queue.entries[oldest].ticket)) continue;
    oldest = i;
    step = found;
  }
  if (oldest == offload_queue::entry_count) return false;
  serve(oldest, step);
  return true;
}

void offload_agent::serve(std::size_t i, offload_step step) {
  offload_entry& entry = queue_.local()->entries[i];
  const std::uint32_t waiting = entry.waiting_place;
  offload_step outcome = offload_step::failed;
  try {
    const reading_guard guard{control_, place_, &place_slot::read_by_agent, place_, entry.failure_epoch};
    graph_plan& plan = *plans_[i];
    if (step == offload_step::measure) {
      plan.discover(roots_[i].data(), entry.root_count, copy_map::automatic, source_check::none);
      entry.copy_bytes = plan.copy_bytes();
      entry.objects = plan.size().objects;
      entry.finalizer_words = plan.finalizer_words();
      entry.alignment = plan.alignment_bytes();
      for (std::uint32_t r = 0; r < entry.root_count; ++r) entry.roots[r] = plan.root(r);
      outcome = offload_step::measured;
    } else {
      copy(entry, plan);
      outcome = offload_step::done;
    }
  } catch (const std::exception& failure) {
    fail(entry, failure);
  }
  if (outcome != offload_step::measured) plans_[i]->clear();
  entry.step.store(outcome, std::memory_order_seq_cst);  // before the look at `sleeping` in wake()
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(control_.slot(waiting));
}

// Section 4.2: between memories, the copy is made beside the originals, with pointers that are right where it goes.
void offload_agent::copy(offload_entry& entry, const graph_plan& plan) {
  auto* const destination = reinterpret_cast<std::byte*>(entry.destination);
  auto* const finalizers = reinterpret_cast<std::uint64_t*>(entry.finalizers);
  if (!staged_) return plan.write(destination, entry.destination, finalizers);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(entry.copy_bytes);
  plan.write(buffer.get(), entry.destination, finalizers);
  std::memcpy(destination + sizeof(arena), buffer.get() + sizeof(arena), entry.copy_bytes - sizeof(arena));
}

void offload_agent::fail(offload_entry& entry, const std::exception& failure) noexcept {
  const auto* const known = dynamic_cast<const error*>(&failure);
  entry.error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
  const std::string_view text = known != nullptr ? std::string_view{known->message()} : std::string_view{failure.what()};
  const std::size_t length = std::min(text.size(), sizeof entry.error_text - 1);
  std::memcpy(entry.error_text, text.data(), length);
  entry.error_text[length] = '\0';
}

offload_entry& offload_agent::measure(std::span<const graph_root> roots) {
  offload_queue& queue = *queue_.local();
  offload_entry* entry = nullptr;
  // Only this place's thread takes entries; back-pressure is this wait.
  current->scheduler->wait_until([&] {
    for (offload_entry& each : queue.entries) {
      if (each.step.load(std::memory_order_acquire) != offload_step::free) continue;
      entry = &each;
      entry->step.store(offload_step::reserved, std::memory_order_relaxed);
      return true;
    }
    return false;
  });
  std::copy(roots.begin(), roots.end(), roots_[entry->index].begin());
  entry->root_count = static_cast<std::uint32_t>(roots.size());
  entry->waiting_place = place_;
  entry->failure_epoch = current->endpoint->failure_epoch();
  queue.request(*entry, offload_step::measure);
  try {
    await_step(*entry, offload_step::measured);
  } catch (...) {
    // The caller may give the graph up now: not while the agent reads it. It is at work in this process, so this ends soon.
    while (entry->step.load(std::memory_order_acquire) == offload_step::measure) std::this_thread::yield();
    release_entry(*entry, place_);
    throw;
  }
  return *entry;
}

offload_entry& entry_at(std::uint64_t address, std::uint32_t source) {
  check_access(access::get, address, sizeof(offload_entry));
  auto* const entry = reinterpret_cast<offload_entry*>(address);
  if (address % alignof(offload_entry) != 0 || ptr<offload_entry>{entry}.place().index() != source || entry->index >= offload_queue::entry_count ||
      entry->step.load(std::memory_order_acquire) != offload_step::measured)
    throw_error(errc::bad_message, fmt::format("a call from place {} names a request of its offload agent at {:#x}, where there is none", source, address));
  return *entry;
}

void request_copy(offload_entry& entry, arena& destination) {
  entry.destination = reinterpret_cast<std::uintptr_t>(&destination);
  entry.finalizers = reinterpret_cast<std::uintptr_t>(destination.finalizers);
  entry.waiting_place = current->place;
  queue_of(entry).request(entry, offload_step::copy);
}

void await_step(offload_entry& entry, offload_step wanted) {
  offload_step step = offload_step::free;
  current->scheduler->wait_until([&] {
    step = entry.step.load(std::memory_order_acquire);
    return step == wanted || step == offload_step::failed;
  });
  if (step != offload_step::failed) return;
  if (static_cast<errc>(entry.error_code) == errc::place_lost) throw_place_lost(*current->job, current->place);
  throw_error(static_cast<errc>(entry.error_code), std::string{entry.error_text, ::strnlen(entry.error_text, sizeof entry.error_text)});
}

void release_entry(offload_entry& entry, std::uint32_t owner) noexcept {
  entry.releases.fetch_add(1, std::memory_order_release);
  entry.step.store(offload_step::free, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(current->job->slot(owner));  // whose tasks may wait for an entry
}

}  // namespace situ::detail
