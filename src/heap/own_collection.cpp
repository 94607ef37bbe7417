// The collection of one thread's own objects, without others: no shared object refers to them, but for those that the
// thread remembers. What its roots reach is copied to the chunks of its place, and is shared from then on; the rest is
// dead. Objects that became shared while they were young are moved by the protocol of moves, since others may use them.
#include <cstring>
#include <vector>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

class own_collection {
 public:
  own_collection(heap_core& core, thread_state& of) : core_{core}, of_{of}, its_{of.its()}, lock_{core.lock_} {}

  void run() {
    if (!its_.young.empty()) {
      its_.young.back()->top = of_.next_;
      its_.bytes_made += static_cast<std::uint64_t>(of_.next_ - its_.young.back()->first());
    }
    of_.next_ = of_.end_ = nullptr;
    trace();
    sweep();
    core_.counts_.objects_shared += survivors_;
    core_.shared_bytes_ += survived_bytes_;
    core_.counts_.entries_freed += freed_;
    lock_.unlock();
    core_.publish_entries(of_, published_);
    core_.relocate(of_, shared_while_young_, {core_.here_, chunk_kind::ordinary});
    lock_.lock();
    empty_chunks();
    keep_runs();
  }

 private:
  void visit(std::uint32_t& word) {
    if (word == 0 || (word & 1) != 0) return;
    const std::uint64_t its = core_.entry(word);
    if ((its & entry_is_shared) != 0) return;
    heap_object* const old = object_of_entry(its);
    const std::size_t bytes = object_bytes(old->words);
    heap_object* now = old;
    if (!chunk_of(old)->is_large()) {
      now = core_.room_for_copy(of_, {core_.here_, chunk_kind::ordinary}, old->words, lock_);
      std::memcpy(static_cast<void*>(now), old, sizeof(heap_object) + std::size_t{4} * old->words);
    }
    store_entry(core_.at_entry(word), reinterpret_cast<std::uint64_t>(now) | entry_is_shared);
    if (core_.must_publish_entries()) published_.emplace_back(reinterpret_cast<std::uint64_t>(core_.at_entry(word)), 8);
    ++survivors_;
    survived_bytes_ += bytes;
    to_do_.push_back(now);
  }

  void trace() {
    const auto visiting = [this](std::uint32_t& word) { visit(word); };
    for (std::uint32_t& each : of_.roots_) visit(each);
    const heap_thread::root_visitor visitor = visiting;
    for (const auto& each : its_.root_functions)
      if (each) each(visitor);
    for (const std::uint32_t raw : its_.remembered) {
      const std::uint64_t its = std::atomic_ref<std::uint64_t>{*core_.at_entry(raw)}.fetch_and(~entry_is_remembered);
      if (object_of_entry(its) != nullptr) core_.each_reference(*object_of_entry(its), visiting);
    }
    its_.remembered.clear();
    while (!to_do_.empty()) {
      heap_object* const next = to_do_.back();
      to_do_.pop_back();
      core_.each_reference(*next, visiting);
    }
  }

  // Frees the entries of dead objects, and finds those that others share.
  void sweep() {
    const auto look = [this](heap_object& each) {
      const std::uint64_t its = core_.entry(each.self);
      if (object_of_entry(its) != &each) return;
      if ((its & entry_is_shared) == 0) {
        store_entry(core_.at_entry(each.self), std::uint64_t{0});
        ++freed_;
        core_.counts_.bytes_freed += object_bytes(each.words);
      } else if (!chunk_of(&each)->is_large()) {
        shared_while_young_.push_back(each.self);
      }
    };
    for (heap_chunk* const each : its_.young) each_object(*each, look);
    for (heap_chunk* const each : its_.large) {
      auto* const object = reinterpret_cast<heap_object*>(each->first());
      const std::uint64_t freed_before = freed_;
      look(*object);
      if (freed_ != freed_before && each->home == core_.here_) dead_.push_back(each);
    }
    its_.large.clear();
  }

  // Keeps the young chunks for the thread's next objects.
  void empty_chunks() {
    for (heap_chunk* const each : its_.young) {
      each->top = each->first();
      its_.reserve.push_back(each);
    }
    its_.young.clear();
    its_.young_bytes = 0;
    for (heap_chunk* const each : dead_) core_.retire(each);
  }

  // Keeps the runs of which a quarter is free; a collection of all places finds what is free in the others.
  void keep_runs() {
    std::vector<thread_state::rest::entry_run> kept;
    for (const thread_state::rest::entry_run& run : its_.runs) {
      std::uint32_t free = 0;
      for (std::uint32_t raw = run.begin; raw != run.end; raw += 2) free += *core_.at_entry(raw) == 0 ? 1 : 0;
      if (free >= (run.end - run.begin) / 8) kept.push_back(run);
    }
    its_.runs = std::move(kept);
    its_.runs_looked_through = 0;
    of_.entry_at_ = of_.entry_end_ = 0;
  }

  heap_core& core_;
  thread_state& of_;
  thread_state::rest& its_;
  std::unique_lock<std::mutex> lock_;  // of core_
  std::vector<heap_object*> to_do_;
  std::vector<heap_core::stale_range> published_;
  std::vector<std::uint32_t> shared_while_young_;
  std::vector<heap_chunk*> dead_;
  std::uint64_t survivors_ = 0;
  std::uint64_t survived_bytes_ = 0;
  std::uint64_t freed_ = 0;
};

void heap_core::collect_own(thread_state& of) {
  const std::uint64_t began = steady_ns();
  of.section_->due.fetch_and(~own_collection_is_due, std::memory_order_relaxed);
  own_collection{*this, of}.run();
  const std::lock_guard hold{lock_};
  ++counts_.own_collections;
  count_pause(steady_ns() - began);
  if (options_.collect_after != 0 && shared_bytes_ >= options_.collect_after)
    of.section_->due.fetch_or(collection_is_due, std::memory_order_relaxed);
}

void heap_core::count_pause(std::uint64_t took) {
  counts_.pauses_ns += took;
  counts_.longest_pause_ns = std::max(counts_.longest_pause_ns, took);
}

}  // namespace situ::detail
