#include <situ/spread/detail/pool_core.h>

#include <situ/base/detail/assert.h>
#include <situ/base/detail/coherence.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/atomic.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/detail/body.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/float_settings.h"
#include "spread/pool_hosts.h"

namespace situ::detail {
namespace {

constexpr std::size_t chunk_bytes = 8192 - sizeof(pool_chunk);
constexpr std::size_t most_free_chunks = 8;
constexpr std::int64_t first_ring = 64;            // chunks
constexpr std::uint32_t tasks_between_polls = 16;  // polling the channels costs as much as a small task
constexpr std::uint64_t one_run = one_pool_run;

template <class T>
T* allocate_words(std::size_t bytes) {
  const ptr<std::byte> memory = situ::allocate_bytes(bytes, {.alignment = 64});
  std::memset(memory.local(), 0, bytes);
  return reinterpret_cast<T*>(memory.local());
}
template <class T>
void give_back(T* block) {
  if (block != nullptr) deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(block)});
}

pool_ring* make_ring(std::int64_t chunks) {
  auto* const ring =
      allocate_words<pool_ring>(sizeof(pool_ring) + static_cast<std::size_t>(chunks - 1) * sizeof(pool_chunk*));
  ring->mask = chunks - 1;
  write_back(ring, sizeof(pool_ring));
  return ring;
}

std::size_t words_of_members(std::size_t members) noexcept { return (members + 63) / 64; }

std::uint64_t bytes_of_task_below(const std::byte* top) noexcept {
  pool_trailer trailer;
  std::memcpy(&trailer, top - sizeof(trailer), sizeof(trailer));
  return trailer.bytes;
}

}  // namespace

pool_core::pool_core(void* pool, const team& members)
    : pool_{pool},
      end_of_all_{members},
      root_{allocate_words<pool_root>(sizeof(pool_root))},
      random_{0x9e3779b97f4a7c15 * (members.index() + 1)} {
  rings_.push_back(make_ring(first_ring));
  root_->ring.store(rings_.back(), std::memory_order_relaxed);
  const hosts_of_team hosts{members};
  const std::vector<std::uint32_t>& near = hosts.groups[hosts.own];
  index_ = static_cast<std::uint32_t>(std::find(near.begin(), near.end(), members.index()) - near.begin());
  if (index_ == 0) make_state(near.size(), hosts.groups.size());
  open(make_chunk(0));
  struct parts {
    ptr<pool_root> root;
    ptr<pool_state> state;
  };
  const std::vector<parts> all = all_gather(parts{ptr{root_}, ptr{state_}}, members);
  for (const std::uint32_t each : near) roots_.push_back(all[each].root.local());
  state_ = all[near.front()].state.local();
  if (hosts.groups.size() > 1) hosts_ = std::make_unique<pool_hosts>(*this, hosts, all.front().state);
}

void pool_core::make_state(std::size_t members, std::size_t hosts) {
  const std::size_t bytes = sizeof(pool_state) + words_of_members(members) * sizeof(std::uint64_t);
  const std::size_t bytes_of_links = hosts > 1 ? hosts * sizeof(pool_link) : 0;
  state_ = allocate_words<pool_state>(bytes + bytes_of_links);
  state_->active.store(members, std::memory_order_relaxed);
  state_->active_hosts = hosts;
  if (hosts > 1) state_->links = reinterpret_cast<pool_link*>(reinterpret_cast<std::byte*>(state_) + bytes);
}

// Drops tasks that were never run.
pool_core::~pool_core() {
  if (hosts_ != nullptr && end_of_all_.may_come()) hosts_->await_answers();
  const bool is_common = end_of_all_.come();
  hosts_.reset();
  if (!is_common) return;
  while (pool_chunk* const left = take_back()) give_back(left);
  give_back(chunk_);
  for (pool_chunk* const each : free_) give_back(each);
  for (pool_ring* const each : rings_) give_back(each);
  give_back(root_);
  if (index_ == 0) give_back(state_);
}

// --- this place's tasks ---

void pool_core::run() {
  if (const std::exception_ptr failure = run_to_its_end()) std::rethrow_exception(failure);
}

std::exception_ptr pool_core::run_to_its_end() {
  check_not_ended(end_of_all_.members());
  SITU_ASSERT(1, !is_running_, "task_pool::run() runs already at this place: a task adds tasks, and does not run them");
  is_running_ = true;
  std::exception_ptr loss;
  try {
    do {
      if (!is_idle_) run_tasks();
    } while (find_tasks());
    if (hosts_ != nullptr) hosts_->tell_end();  // what a loss has kept this place from telling
  } catch (...) {
    loss = std::current_exception();
  }
  if (loss) {
    leave_after_loss();
  } else {
    is_idle_ = false;
    ++runs_;
  }
  is_running_ = false;
  if (loss) std::rethrow_exception(loss);
  return std::exchange(failure_, nullptr);
}

void pool_core::run_tasks() {
  const bool is_alone = roots_.size() == 1 && hosts_ == nullptr;
  const float_settings own = float_settings::of_this_thread();
  for (std::uint32_t n = 1;; ++n) {
    if (!has_private()) {
      pool_chunk* const newest = take_back();
      if (newest == nullptr) return;
      recycle(std::exchange(chunk_, nullptr));
      open(newest);
    }
    if (is_nothing_shared() && !is_alone) share_older_half();
    if (hosts_ != nullptr && hosts_->are_wanting() && !is_nothing_shared()) [[unlikely]]
      hosts_->give();
    run_newest();
    own.apply_unless_own();  // settings that a task changes end with the task
    if (n % tasks_between_polls == 0) current->scheduler->progress();
  }
}

void pool_core::run_newest() {
  pool_trailer trailer;
  std::memcpy(&trailer, top_ - sizeof(trailer), sizeof(trailer));
  top_ -= trailer.bytes;
  ++ran_;
  try {
    const void* code = find_function(trailer.code);
    if (code == nullptr) [[unlikely]]
      code = find_received_function(trailer.code);  // throws
    reinterpret_cast<task_code>(const_cast<void*>(code))(pool_, top_, trailer.bytes - sizeof(trailer));
  } catch (const place_lost_error&) {
    check_not_ended(end_of_all_.members());  // the loss of a member ends the run
    note_failure();
  } catch (...) {
    note_failure();
  }
}

void pool_core::note_failure() {
  if (failure_)
    return log(log_level::warning, "a task of a pool threw, and was not the first: its exception is dropped");
  failure_ = std::current_exception();
}

// Makes room for a task: shares full chunks, older half first.
void pool_core::make_room(std::size_t bytes) {
  if (has_private()) share_older_half();
  if (bytes <= static_cast<std::size_t>(end_ - top_)) return;
  if (is_full()) grow();
  pool_chunk* const next = make_chunk(bytes);
  close();
  if (has_private()) {
    share(chunk_);
  } else {
    recycle(chunk_);
  }
  open(next);
}

// Returns false if there is one task only. Splits by bytes, so that a large task does not keep many small ones with it.
bool pool_core::share_older_half() {
  const auto half = (top_ - begin_) / 2;
  std::byte* at = top_;
  while (top_ - at < half) {
    std::byte* const next = at - bytes_of_task_below(at);
    if (next == begin_) break;
    at = next;
  }
  if (at == top_) return false;
  if (is_full()) [[unlikely]]
    grow();
  const auto newer = static_cast<std::size_t>(top_ - at);
  pool_chunk* const upper = make_chunk(newer);
  std::memcpy(upper->tasks(), at, newer);
  upper->used = newer;
  top_ = at;
  close();
  share(chunk_);
  open(upper);
  return true;
}

pool_chunk* pool_core::make_chunk(std::size_t bytes) {
  const std::size_t capacity = std::max(bytes, chunk_bytes);
  pool_chunk* made = nullptr;
  if (capacity == chunk_bytes && !free_.empty()) {
    made = free_.back();
    free_.pop_back();
  } else {
    free_.reserve(most_free_chunks);
    made = reinterpret_cast<pool_chunk*>(situ::allocate_bytes(sizeof(pool_chunk) + capacity).local());
  }
  made->used = 0;
  made->capacity = capacity;
  return made;
}

void pool_core::open(pool_chunk* chunk) noexcept {
  chunk_ = chunk;
  begin_ = chunk->tasks();
  top_ = begin_ + chunk->used;
  end_ = begin_ + chunk->capacity;
}

void pool_core::recycle(pool_chunk* chunk) noexcept {
  if (chunk->capacity == chunk_bytes && free_.size() < most_free_chunks) {
    free_.push_back(chunk);
  } else {
    flush(chunk, sizeof(pool_chunk) + chunk->capacity);  // the chunk may belong to another place
    give_back(chunk);
  }
}

void throw_other_result(std::string_view of_task, std::string_view of_run) {
  throw_error(errc::bad_argument,
              fmt::format("a task returns {}, and this run of its pool collects results of type {}: "
                          "let the task return that, or nothing",
                          of_task, of_run));
}

// --- the ring ---

bool pool_core::is_full() const noexcept {
  const std::int64_t bottom = root_->bottom.load(std::memory_order_relaxed);
  return bottom - root_->top.load(std::memory_order_acquire) > rings_.back()->mask;
}

// pre: the ring is not full.
void pool_core::share(pool_chunk* chunk) {
  flush(chunk, sizeof(pool_chunk) + chunk->capacity);  // includes the bytes of finished tasks above the shared ones
  const std::int64_t bottom = root_->bottom.load(std::memory_order_relaxed);
  rings_.back()->slot(bottom).store(chunk, std::memory_order_relaxed);
  root_->bottom.store(bottom + 1, std::memory_order_seq_cst);  // invariant 4; also publishes the chunk
  if (roots_.size() > 1) wake_one();
}

void pool_core::grow() {
  pool_ring& old = *rings_.back();
  rings_.reserve(rings_.size() + 1);
  pool_ring* const next = make_ring(2 * (old.mask + 1));
  const std::int64_t bottom = root_->bottom.load(std::memory_order_relaxed);
  for (std::int64_t at = root_->top.load(std::memory_order_acquire); at < bottom; ++at)
    next->slot(at).store(old.slot(at).load(std::memory_order_relaxed), std::memory_order_relaxed);
  rings_.push_back(next);
  root_->ring.store(next, std::memory_order_release);
}

pool_chunk* pool_core::take_back() noexcept {
  if (is_nothing_shared()) return nullptr;
  const std::int64_t last = root_->bottom.load(std::memory_order_relaxed) - 1;
  root_->bottom.store(last, std::memory_order_seq_cst);  // before the load of `top`, which thieves advance
  std::int64_t top = root_->top.load(std::memory_order_seq_cst);
  pool_chunk* chunk = nullptr;
  if (top <= last) {
    chunk = rings_.back()->slot(last).load(std::memory_order_relaxed);
    if (top < last) return chunk;
    // It is the last chunk: a thief may be taking it.
    if (!root_->top.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) chunk = nullptr;
  }
  root_->bottom.store(last + 1, std::memory_order_release);
  return chunk;
}

pool_chunk* pool_core::steal(pool_root& from) noexcept {
  while (true) {
    std::int64_t top = from.top.load(std::memory_order_seq_cst);
    if (top >= from.bottom.load(std::memory_order_seq_cst)) return nullptr;
    pool_ring* const ring = from.ring.load(std::memory_order_acquire);
    invalidate(ring, sizeof(pool_ring));
    pool_chunk* const chunk = ring->slot(top).load(std::memory_order_relaxed);
    if (from.top.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) return chunk;
  }
}

bool pool_core::steal_some() {
  const auto members = static_cast<std::uint32_t>(roots_.size());
  random_ ^= random_ << 13;  // xorshift
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  auto victim = static_cast<std::uint32_t>(random_ % members);
  for (std::uint32_t looks = 0; looks < members; ++looks, victim = victim + 1 == members ? 0 : victim + 1) {
    if (victim == index_) continue;
    if (pool_chunk* const taken = steal(*roots_[victim])) {
      recycle(std::exchange(chunk_, nullptr));
      flush(taken, sizeof(pool_chunk));
      flush(taken, sizeof(pool_chunk) + taken->capacity);
      open(taken);
      ++stolen_;
      return true;
    }
  }
  return false;
}

bool pool_core::others_share() const noexcept {
  for (std::uint32_t i = 0; i < roots_.size(); ++i) {
    if (i != index_ &&
        roots_[i]->top.load(std::memory_order_seq_cst) < roots_[i]->bottom.load(std::memory_order_seq_cst))
      return true;
  }
  return false;
}

// --- idle places, and the end of a run ---

bool pool_core::is_over() const noexcept {
  return static_cast<std::uint32_t>(state_->active.load(std::memory_order_acquire) / one_run) != runs_;
}

bool pool_core::answers_for_tasks() const noexcept {
  return has_tasks() || (hosts_ != nullptr && !hosts_->have_taken_gifts());
}

// Returns false if the run is over. pre: this place has no tasks.
bool pool_core::find_tasks() {
  if (!is_idle_) {
    if (steal_some()) return true;
    if (is_over()) return false;  // the run ended while an exception left an earlier call
    if (hosts_ != nullptr && hosts_->find_tasks()) return true;
    start_idling();
  }
  while (!is_over()) {
    if (!is_idle_) return true;  // other code has added a task here
    check_not_ended(end_of_all_.members());
    if (!others_share()) {
      if (hosts_ != nullptr) hosts_->ask();
      sleep();
    } else if (stop_idling()) {
      if (answers_for_tasks() || steal_some()) return true;
      start_idling();
    } else if (!is_over()) {
      current->scheduler->progress();  // the word that the run is over is on its way
    }
  }
  return false;
}

void pool_core::start_idling() {
  is_idle_ = true;
  std::uint64_t now = state_->active.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (now % one_run != 0) return;
  if (hosts_ != nullptr) return hosts_->leave();
  // If the exchange fails, another place ends the run.
  if (state_->active.compare_exchange_strong(now, now + one_run + roots_.size(), std::memory_order_acq_rel))
    call_others();
}

// Returns false if the run is over. Other code of this place may do the same while it waits for another host.
bool pool_core::stop_idling() {
  if (!become_active()) return false;
  if (!is_idle_) state_->active.fetch_sub(1, std::memory_order_acq_rel);
  is_idle_ = false;
  return true;
}

// Counts this place once more among the active ones; returns false if the run is over.
bool pool_core::become_active() {
  std::uint64_t now = state_->active.load(std::memory_order_acquire);
  do {
    if (static_cast<std::uint32_t>(now / one_run) != runs_) return false;
    if (now % one_run == 0 && hosts_ != nullptr) return hosts_->join();
  } while (!state_->active.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel));
  return true;
}

// The caller may call run() again. If this place cannot become active, it stays idle: the word that the run is over is
// on its way here, or a member is lost.
void pool_core::leave_after_loss() {
  if (!is_idle_) return;
  try {
    if (!stop_idling() && is_over()) is_idle_ = false;
  } catch (const place_lost_error&) {}
}

// pre: all hosts were idle, and this one is told so.
void pool_core::begin_next_run() {
  state_->active.fetch_add(one_run + roots_.size(), std::memory_order_acq_rel);
  call_others();
}

// Sleeps until there may be something to steal, the run is over, other code has added a task here, or is_done() holds.
void pool_core::sleep(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  const bool was_idle = is_idle_;
  const std::uint64_t bit = std::uint64_t{1} << index_ % 64;
  std::atomic<std::uint64_t>& asleep = state_->asleep[index_ / 64];
  const std::atomic_ref<std::uint64_t> called{root_->called};
  const std::uint64_t seen = called.load(std::memory_order_acquire);
  asleep.fetch_or(bit, std::memory_order_seq_cst);
  const auto address = reinterpret_cast<std::uintptr_t>(&root_->called);
  current->scheduler->wait_until(
      [&] {
        return called.load(std::memory_order_acquire) != seen || is_idle_ != was_idle || is_over() || others_share() ||
               (is_done && is_done());
      },
      {.deadline_ns = deadline_ns,
       .words = awaited_bit(address),
       .note = {.kind = wait_kind::word, .subject = address}});
  asleep.fetch_and(~bit, std::memory_order_relaxed);
}

void pool_core::wake_one() {
  for (std::size_t w = 0; w < words_of_members(roots_.size()); ++w) {
    std::uint64_t bits = state_->asleep[w].load(std::memory_order_seq_cst);
    while (bits != 0) {
      const std::uint64_t lowest = bits & -bits;
      bits = state_->asleep[w].fetch_and(~lowest, std::memory_order_acq_rel);
      if ((bits & lowest) != 0)
        return call(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(lowest))));
    }
  }
}

void pool_core::call_others() {
  for (std::uint32_t i = 0; i < roots_.size(); ++i)
    if (i != index_) call(i);
}

void pool_core::call(std::uint32_t member) { atomic_fetch_add(ptr<std::uint64_t>{&roots_[member]->called}, 1); }

}  // namespace situ::detail
