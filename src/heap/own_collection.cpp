// The collection of one thread's own objects, without others: no shared object refers to them, but for those that the
// thread remembers. The collection copies the objects that the roots reach into chunks of the place, and shares them;
// the rest is dead. Objects that became shared while they were young are moved by the protocol of moves, since others
// may use them.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "heap/marked_entries.h"
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
    std::exception_ptr failure;
    try {
      move_those_shared();
    } catch (...) {  // a place is lost: nobody can be asked, so the chunks are not used again
      failure = std::current_exception();
      for (heap_chunk* const each : its_.young) each->stays = true;
    }
    empty_chunks();
    // Before the thread stores references to the survivors, others must find them.
    core_.order_before_references();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void visit(std::uint32_t word) {
    if (word == 0 || (word & 1) != 0) return;
    const std::uint64_t its = core_.entry(word);
    if ((its & entry_is_shared) != 0) return;
    store_entry(core_.at_entry(word), its | entry_is_shared);  // it is met once
    to_do_.push_back(word);
  }

  // Copies an object that has been met, and visits what it refers to. If this place has no room for a copy, the object
  // stays in its chunk, which then is no young one any more.
  void copy(std::uint32_t raw) {
    heap_object* const old = object_of_entry(core_.entry(raw));
    heap_object* now = old;
    const std::size_t bytes = object_bytes(old->words);
    if (heap_chunk* const in = chunk_of(old); !in->is_large()) {
      heap_object* const room = core_.room_here(of_, chunk_kind::ordinary, old->words, lock_);
      if (room == nullptr) {
        in->stays = true;
      } else {
        now = room;
        copy_object(*now, *old, old->self);
        racing_store(old->self, 0U);
        store_entry(core_.at_entry(raw), reinterpret_cast<std::uint64_t>(now) | entry_is_shared);
        kept_bytes_ += bytes;
      }
    }
    if (core_.must_publish_entries()) published_.emplace_back(reinterpret_cast<std::uint64_t>(core_.at_entry(raw)), 8);
    ++survivors_;
    survived_bytes_ += bytes;
    core_.each_reference(*now, [this](std::uint32_t& word) { visit(word); });
  }

  void trace() {
    const heap_thread::root_visitor visitor = [this](std::uint32_t& word) { visit(word); };
    for (const std::uint32_t each : of_.roots_) visit(each);
    for (const auto& each : its_.root_functions)
      if (each) each(visitor);
    // Others may move a remembered object: it is read in a section, which does not wait for room.
    std::vector<std::uint32_t> words;
    for (const std::uint32_t raw : its_.remembered) {
      of_.enter();
      const std::uint64_t its = changing(core_.at_entry(raw)).fetch_and(~entry_is_remembered);
      if (object_of_entry(its) != nullptr)
        core_.each_reference(*object_of_entry(its), [&](std::uint32_t& word) { words.push_back(word); });
      of_.leave();
    }
    for (std::uint32_t& each : words) visit(each);
    its_.remembered.clear();
    std::ranges::reverse(to_do_);
    copy_all();
  }

  // Most objects are in no near cache. So a queue is between the stack of objects that have been met and the copies:
  // the objects in it are fetched while others are copied.
  void copy_all() {
    std::array<std::uint32_t, 8> queue;
    std::size_t first = 0, queued = 0;
    while (queued != 0 || !to_do_.empty()) {
      while (queued < queue.size() && !to_do_.empty()) {
        const std::uint32_t raw = to_do_.back();
        to_do_.pop_back();
        __builtin_prefetch(object_of_entry(core_.entry(raw)));
        queue[(first + queued++) % queue.size()] = raw;
      }
      const std::uint32_t next = queue[first];
      first = (first + 1) % queue.size();
      --queued;
      copy(next);
    }
  }

  // Frees the entries of dead objects, and finds young objects that others share. The entry of each young object is in
  // one of the runs that the thread has looked through since its last collection, since exchange() makes its copies
  // in other chunks. So the sweep reads no header of a dead object.
  void sweep() {
    sweep_large();
    find_young_range();
    std::vector<thread_state::rest::entry_run> kept;
    for (std::size_t i = 0; i < its_.runs.size(); ++i) {
      const thread_state::rest::entry_run& run = its_.runs[i];
      // The thread keeps the runs of which an eighth is free; a collection of all places frees the others.
      if (i >= its_.runs_looked_through || sweep_run(run) >= (run.end - run.begin) / 8) kept.push_back(run);
    }
    its_.runs = std::move(kept);
    its_.runs_looked_through = 0;
    of_.forget_entries();
  }
  // Returns how many of its entries are free now. Most groups of entries have dead objects alone. The others are swept
  // without a branch an entry: the processor would guess one of a group wrong.
  std::uint32_t sweep_run(const thread_state::rest::entry_run& run) {
    constexpr std::uint32_t group = 8;
    std::uint32_t free = 0;
    std::uint32_t raw = run.begin;
    for (; run.end - raw >= 2 * group; raw += 2 * group) {
      std::uint64_t* const entries = core_.at_entry(raw);
      std::uint64_t any = 0, used = 0;
      for (std::uint32_t i = 0; i < group; ++i) {
        const std::uint64_t its = load_entry(entries + i);
        any |= its;
        used += its != 0 ? 1 : 0;
      }
      if ((any & entry_is_shared) == 0) {
        for (std::uint32_t i = 0; i < group; ++i) store_entry(entries + i, 0);
        freed_ += used;
        free += group;
        continue;
      }
      std::uint64_t shared = 0, are_young = 0;
      for (std::uint32_t i = 0; i < group; ++i) {
        const std::uint64_t its = load_entry(entries + i);
        const std::uint64_t is_shared = its / entry_is_shared & 1;
        shared += is_shared;
        are_young |= is_shared & static_cast<std::uint64_t>(is_in_young_range(its));
        // Others may change the entry of a shared object: the store goes elsewhere.
        store_entry(entry_or_nowhere(entries + i, is_shared), 0);
      }
      freed_ += used - shared;
      free += group - static_cast<std::uint32_t>(shared);
      if (are_young != 0)
        for (std::uint32_t i = 0; i < group; ++i) (void)sweep_entry(raw + 2 * i);
    }
    for (; raw != run.end; raw += 2) free += sweep_entry(raw);
    return free;
  }
  [[nodiscard]] std::uint64_t* entry_or_nowhere(std::uint64_t* entry, std::uint64_t is_nowhere) noexcept {
    const auto there = reinterpret_cast<std::uintptr_t>(entry), nowhere = reinterpret_cast<std::uintptr_t>(&nowhere_);
    return reinterpret_cast<std::uint64_t*>(there ^ ((there ^ nowhere) & (0 - is_nowhere)));
  }
  // Returns 1 if the entry is free now.
  std::uint32_t sweep_entry(std::uint32_t raw) {
    const std::uint64_t its = core_.entry(raw);
    if ((its & entry_is_shared) == 0) {
      if (its != 0) ++freed_;
      store_entry(core_.at_entry(raw), 0);
      return 1;
    }
    if (const heap_object* const object = object_of_entry(its);
        is_in_young_range(its) && chunk_of(object)->is_young && !chunk_of(object)->stays) {
      shared_while_young_.push_back(raw);
      kept_bytes_ += object_bytes(object->words);
    }
    return 0;
  }
  // Spares most shared objects a look at the header of their chunk.
  [[nodiscard]] bool is_in_young_range(std::uint64_t entry) const noexcept {
    return (entry & entry_address_bits) - young_begin_ < young_span_;
  }
  void find_young_range() {
    std::uint64_t begin = ~std::uint64_t{0}, end = 0;
    for (const heap_chunk* const each : its_.young) {
      const auto at = reinterpret_cast<std::uint64_t>(each);
      begin = std::min(begin, at);
      end = std::max(end, at + each->bytes);
    }
    young_begin_ = begin;
    young_span_ = its_.young.empty() ? 0 : end - begin;
  }
  void sweep_large() {
    for (heap_chunk* const each : its_.large) {
      const auto* const object = reinterpret_cast<const heap_object*>(each->first());
      const std::uint64_t its = core_.entry(object->self);
      if (object_of_entry(its) != object || (its & entry_is_shared) != 0) continue;
      store_entry(core_.at_entry(object->self), std::uint64_t{0});
      ++freed_;
      core_.counts_.bytes_freed += object_bytes(object->words);
      if (each->home == core_.here_) dead_.push_back(each);
    }
    its_.large.clear();
  }

  // Objects that others may use leave the young chunks; so do those who still read the old copies of objects that
  // others have moved.
  void move_those_shared() {
    lock_.unlock();
    const auto lock_again = [this](void*) { lock_.lock(); };
    const std::unique_ptr<void, decltype(lock_again)> at_end{this, lock_again};
    core_.publish_entries(of_, published_);
    const std::uint64_t moved =
        core_.relocate(of_, shared_while_young_, {core_.here_, chunk_kind::ordinary}, copy_which::young);
    if (moved == 0 || moved != shared_while_young_.size()) core_.ask_all(of_, {});  // else its own last round will do
    for (const std::uint32_t each : shared_while_young_) {
      heap_chunk* const in = chunk_of(object_of_entry(core_.entry(each)));
      if (std::ranges::find(its_.young, in) != its_.young.end()) in->stays = true;  // there was no room
    }
  }

  // Keeps the young chunks for the thread's next objects.
  void empty_chunks() {
    std::uint64_t bytes = 0;
    for (heap_chunk* const each : its_.young) {
      if (each->stays) {
        each->stays = false;
        each->is_young = false;
        continue;
      }
      bytes += static_cast<std::uint64_t>(each->top - each->first());
      each->top = each->first();
      its_.reserve.push_back(each);
    }
    core_.counts_.bytes_freed += bytes - std::min(bytes, kept_bytes_);
    its_.young.clear();
    its_.young_bytes = 0;
    for (heap_chunk* const each : dead_) core_.retire(each);
  }

  heap_core& core_;
  thread_state& of_;
  thread_state::rest& its_;
  std::unique_lock<std::mutex> lock_;  // of core_
  std::vector<std::uint32_t> to_do_;   // met, not copied yet
  std::vector<heap_core::stale_range> published_;
  std::vector<std::uint32_t> shared_while_young_;
  std::vector<heap_chunk*> dead_;
  std::uint64_t survivors_ = 0;
  std::uint64_t survived_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;                    // of young chunks
  std::uint64_t young_begin_ = 0, young_span_ = 0;  // addresses from the first young chunk to the last one
  std::uint64_t freed_ = 0;
  std::uint64_t nowhere_ = 0;
};

void heap_core::collect_own(thread_state& of) {
  check_outside(of, "a collection of a thread's own objects");
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
