// The collection of all places: every thread stops at a safe point; then each place traces from the roots of its
// threads, frees the entries of its part of the table that nobody has reached, and copies what lives out of chunks that
// are mostly dead. References stay, since they are numbers of entries, unless the program asks for new ones
// (renumbering.h). The places keep together by a barrier in the shared state (meeting.h): a place runs its part in one
// task that does not let other tasks in between.
#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/runtime/at.h>
#include <situ/runtime/task.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "heap/meeting.h"
#include "heap/renumbering.h"
#include "os/host.h"

namespace situ::detail {

class whole_collection {
 public:
  whole_collection(heap_core& core, const heap_collection& how)
      : core_{core}, how_{how}, keeps_order_{how.sorts || how.renumbers}, meeting_{*core.shared_, core.places_} {}

  // Returns false if a thread is in the middle of an operation: then no place has begun.
  [[nodiscard]] bool run() {
    meeting::
        check_all_live();  // before this place counts as one that has come: no collection ends without the lost one
    const bool is_still = stop_threads();
    if (!is_still) core_.shared_->is_put_off.store(1);
    meet();
    const bool is_put_off = core_.shared_->is_put_off.load() != 0;
    meet();
    if (core_.here_ == 0)
      core_.shared_->is_put_off.store(0);  // the next vote comes after the next message of the collector
    if (is_put_off) {
      go_on();
      return false;
    }
    core_.is_stopped_.store(true);
    for (thread_state* const each : core_.threads_) core_.collect_own(*each);
    {
      const std::lock_guard hold{core_.lock_};
      for (heap_chunk* const each : core_.chunks_) live_bytes(*each).store(0, std::memory_order_relaxed);
      core_.rooms_.clear();
    }
    meet();
    invalidate_all();
    mark();
    meet();
    sweep();
    meet();
    if (!how_.renumbers || !renumbering{core_, meeting_, how_.sorts}.run(order_)) compact();
    meet();
    invalidate_all();
    finish();
    return true;
  }

 private:
  // The place's own thread waits in Situ, which runs this, and has not left its section before.
  void say_section() const {
    if (std::exchange(core_.has_said_section_, true)) return;
    log(log_level::warning,
        fmt::format("place {} waits within a section of an object heap, and a collection of all places waits for the "
                    "section's end: end the section before",
                    core_.here_));
  }

  // Waits until each registered thread is at a safe point; the place's own thread runs this, so it is. Returns false if
  // one is in an operation instead: it may wait for this thread.
  [[nodiscard]] bool stop_threads() {
    const std::uint64_t began = steady_ns();
    std::uint64_t said = began;
    while (true) {
      std::uint32_t running = most_threads;
      {
        const std::lock_guard hold{core_.lock_};
        core_.is_stopping_ = true;
        for (thread_state* const each : core_.threads_) {
          each->section_->due.fetch_or(stop_is_due, std::memory_order_relaxed);
          if (each->its().operations.load(std::memory_order_relaxed) != 0) return false;
          if (each->its().threads == nullptr && each->is_in_section()) {
            say_section();
            return false;
          }
          if (each->its().threads != nullptr && !each->its().is_parked) running = each->its().number;
        }
      }
      if (running == most_threads) return true;
      give_way();
      const std::uint64_t now = steady_ns();
      if (now - said < static_cast<std::uint64_t>(core_.options_.patience.count()) * 1'000'000) continue;
      said = now;
      log(log_level::warning,
          fmt::format(
              "thread {} of place {} has reached no safe point of an object heap for {} ms, and a collection waits: "
              "call safe_point(), or begin_idle() before a long wait",
              running, core_.here_, (now - began) / 1'000'000));
    }
  }

  void meet() { meeting_.meet(); }

  // Places add to it: past caches.
  static std::atomic_ref<std::uint64_t> live_bytes(heap_chunk& of) {
    return std::atomic_ref<std::uint64_t>{of.live_bytes};
  }

  void reach(std::uint32_t raw) {
    const std::uint32_t index = raw / 2;
    const std::uint64_t bit = std::uint64_t{1} << index % 64;
    std::atomic<std::uint64_t>& word = core_.marks_[index / 64];
    if ((word.load(std::memory_order_relaxed) & bit) != 0 || (word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0)
      return;
    to_do_.push_back(raw);
  }

  void mark() {
    const heap_thread::root_visitor visit = [this](std::uint32_t& word) {
      if (word != 0 && (word & 1) == 0) reach(word);
    };
    for (thread_state* const each : core_.threads_) {
      for (std::uint32_t& root : each->roots_) visit(root);
      for (const auto& roots : each->its().root_functions)
        if (roots) roots(visit);
    }
    if (keeps_order_) std::ranges::reverse(to_do_);
    while (!to_do_.empty()) {
      const std::uint32_t next = to_do_.back();
      to_do_.pop_back();
      if (keeps_order_) order_.push_back(next);
      const auto first = static_cast<std::ptrdiff_t>(to_do_.size());
      core_.each_reference(*object_of_entry(core_.entry(next)), [this](std::uint32_t& word) { reach(word); });
      if (keeps_order_) std::reverse(to_do_.begin() + first, to_do_.end());  // the first reference is followed first
    }
  }

  // Frees the entries of this place's part that nobody has reached, and sums up what lives in each chunk.
  void sweep() {
    const std::uint64_t begin = core_.here_ * core_.options_.entries;
    // Place 0 begins at entry 1: as long as nobody has claimed its first run, no entry is used, and that run is not one
    // to claim again.
    const std::uint64_t claimed =
        std::min(core_.shared_->next_entry[core_.numbering_][core_.here_].look(), core_.options_.entries);
    const std::uint64_t used = core_.here_ == 0 && claimed == 1 ? 0 : claimed;
    std::uint64_t freed = 0, freed_bytes = 0;
    std::vector<thread_state::rest::entry_run> runs;
    for (std::uint64_t first = 0; first < used; first += entries_of_a_run) {
      std::uint32_t free = 0;
      const std::uint64_t end = begin + std::min(first + entries_of_a_run, used);  // nobody has claimed the later ones
      for (std::uint64_t index = begin + first; index < end; ++index) {
        const auto raw = static_cast<std::uint32_t>(2 * index);
        const std::uint64_t its = core_.entry(raw);
        if (raw == 0) continue;
        if (its == 0) {
          ++free;
          continue;
        }
        heap_object* const object = object_of_entry(its);
        const std::size_t bytes = object_bytes(object->words);
        if ((core_.marks_[index / 64].load(std::memory_order_relaxed) >> index % 64 & 1) == 0) {
          store_entry(core_.at_entry(raw), std::uint64_t{0});
          ++freed;
          freed_bytes += bytes;
          ++free;
        } else {
          live_bytes(*chunk_of(object)).fetch_add(bytes, std::memory_order_relaxed);
        }
      }
      if (free >= entries_of_a_run / 8) {
        const std::uint64_t from = std::max<std::uint64_t>(begin + first, 1);
        runs.push_back({static_cast<std::uint32_t>(2 * from), static_cast<std::uint32_t>(2 * end)});
      }
    }
    for (std::uint64_t word = begin / 64; word < (begin + used + 63) / 64; ++word)
      core_.marks_[word].store(0, std::memory_order_relaxed);
    const std::lock_guard hold{core_.lock_};
    for (thread_state* const each : core_.threads_) {
      each->its().runs.clear();
      each->its().runs_looked_through = 0;
    }
    std::ranges::reverse(runs);
    core_.free_runs_ = std::move(runs);
    core_.counts_.entries_freed += freed;
    core_.counts_.bytes_freed += freed_bytes;
  }

  // Copies what lives in mostly dead chunks, and retires these; if it sorts, in all chunks. Objects that have not
  // changed for long become read-mostly. An object for which this place has no room stays where it is, since the other
  // places answer no messages now.
  void compact() {
    std::unique_lock lock{core_.lock_};
    if (core_.threads_.empty()) return;  // nobody to take memory: the next collection copies
    const std::vector<heap_chunk*> all = core_.chunks_;
    if (!how_.sorts) order_.clear();
    for (const std::uint32_t raw : order_) {
      const std::uint64_t its = core_.entry(raw);
      heap_object* const object = object_of_entry(its);
      if (core_.home_of(object) != core_.here_ || chunk_of(object)->is_large()) continue;
      if (!copy(*object, its, chunk_of(object)->kind, lock)) break;
    }
    for (heap_chunk* const each : all)
      if (!each->is_young) compact(*each, lock);
  }
  void compact(heap_chunk& in, std::unique_lock<std::mutex>& lock) {
    const std::uint64_t live = live_bytes(in).load(std::memory_order_relaxed);
    if (live == 0) {
      core_.retire(&in);
      return;
    }
    const auto held = static_cast<std::uint64_t>(in.top - in.first());
    const bool is_emptied = !in.is_large() && (how_.sorts || live * 2 < held);
    std::uint64_t left = 0;
    each_object(in, [&](heap_object& object) {
      const std::uint64_t its = core_.entry(self_of(object));
      if (object_of_entry(its) != &object) return;
      object.age = static_cast<std::uint8_t>(std::min(object.age + 1, 255));
      const bool becomes_read_mostly = core_.becomes_read_mostly(object, object.age);
      const bool is_copied = is_emptied || becomes_read_mostly;
      if (!is_copied || !copy(object, its, becomes_read_mostly ? chunk_kind::read_mostly : in.kind, lock)) ++left;
    });
    if (left == 0) core_.retire(&in);
  }
  // Returns false if this place has no room for a copy.
  bool copy(heap_object& object, std::uint64_t its, chunk_kind kind, std::unique_lock<std::mutex>& lock) {
    heap_object* const made = core_.room_here(*core_.threads_.front(), kind, object.words, lock);
    if (made == nullptr) return false;
    copy_object(*made, object, object.self);
    const bool becomes_read_mostly = kind == chunk_kind::read_mostly && chunk_of(&object)->kind != kind;
    const std::uint64_t bits = (its & ~entry_address_bits) | (becomes_read_mostly ? entry_is_read_mostly : 0);
    store_entry(core_.at_entry(object.self), reinterpret_cast<std::uint64_t>(made) | bits);
    if (becomes_read_mostly) ++core_.counts_.made_read_mostly;
    ++core_.counts_.objects_moved;
    return true;
  }

  void finish() {
    {
      const std::lock_guard hold{core_.lock_};
      ++core_.counts_.collections;
      core_.shared_bytes_ = 0;
      for (thread_state* const each : core_.threads_)
        each->section_->due.fetch_and(~collection_is_due, std::memory_order_relaxed);
    }
    go_on();
  }
  void go_on() {
    const std::lock_guard hold{core_.lock_};
    for (thread_state* const each : core_.threads_)
      each->section_->due.fetch_and(~stop_is_due, std::memory_order_relaxed);
    core_.is_stopped_.store(false);
    core_.is_stopping_ = false;
  }

  heap_core& core_;
  heap_collection how_;
  bool keeps_order_;
  meeting meeting_;
  std::vector<std::uint32_t> to_do_;
  std::vector<std::uint32_t> order_;  // in which the trace has met the objects, if it is to be kept
};

// pre: lock_ is held, and threads stand still. Another place may have swept its part, and given its free entries to
// itself.
void heap_core::forget_runs_of_others() {
  const auto is_others = [&](const thread_state::rest::entry_run& run) {
    return run.begin / 2 / options_.entries != here_;
  };
  std::erase_if(free_runs_, is_others);
  for (thread_state* const each : threads_) {
    std::erase_if(each->its().runs, is_others);
    each->its().runs_looked_through = 0;
    each->forget_entries();
  }
}

bool heap_core::collect_here(const heap_collection& how) {
  const std::uint64_t began = steady_ns();
  try {
    if (!whole_collection{*this, how}.run()) return false;
  } catch (...) {  // a place is lost: the threads go on, and nothing has been freed that somebody reaches
    const std::lock_guard hold{lock_};
    if (is_stopped_) forget_runs_of_others();
    for (thread_state* const each : threads_) each->section_->due.fetch_and(~stop_is_due, std::memory_order_relaxed);
    is_stopped_.store(false);
    is_stopping_ = false;
    throw;
  }
  const std::lock_guard hold{lock_};
  count_pause(steady_ns() - began);
  return true;
}

void heap_core::park(thread_state& of) {
  const std::lock_guard hold{lock_};
  of.its().is_parked = true;
}

void heap_core::unpark(thread_state& of) {
  while (true) {
    {
      const std::lock_guard hold{lock_};
      if (!is_stopping_) {
        of.its().is_parked = false;
        return;
      }
    }
    give_way();
  }
}

// Returns false if some thread is in the middle of an operation. pre: the place's own thread calls it.
bool heap_core::ask_all_to_collect(const heap_collection& how) {
  // A place that computes sees it at its next safe point.
  for (section_word* const each : words_)
    if (each->is_used.load() != 0) each->due.fetch_or(stop_is_due, std::memory_order_relaxed);
  std::vector<future<bool>> parts;
  for (std::uint32_t p = 0; p < places_; ++p)
    parts.push_back(situ::async_at(
        place{p},
        [](std::uint64_t core, bool sorts, bool renumbers) {
          return reinterpret_cast<heap_core*>(core)->collect_here({.sorts = sorts, .renumbers = renumbers});
        },
        cores_[p], how.sorts, how.renumbers));
  bool is_done = true;
  for (future<bool>& each : parts) is_done &= each.get();
  return is_done;
}

// Throws place_lost_error if the place that collects for all is lost: then no place can.
void heap_core::check_collector() {
  const std::uint32_t collector = shared_->collecting.look();
  if (collector != 0 && has_ended(*current->job, collector - 1)) throw_loss_of(*current->job, collector - 1);
}

void heap_core::collect(thread_state& by, const heap_collection& how) {
  check_outside(by, "a collection of all places");
  park(by);
  try {
    const std::uint64_t before = shared_->collections.look();
    while (!shared_->collecting.exchange_if(0, here_ + 1)) {  // another one collects for all
      check_collector();
      if (by.its().threads == nullptr) progress();
      give_way();
      if (shared_->collections.look() != before) return unpark(by);
    }
    try {
      by_own_thread(by, [&] {
        while (!ask_all_to_collect(how)) {
          progress();
          give_way();
        }
      });
    } catch (...) {
      for (section_word* const each : words_) each->due.fetch_and(~stop_is_due, std::memory_order_relaxed);
      shared_->collecting.set(0);
      throw;
    }
    shared_->collections.add(1);
    shared_->collecting.set(0);
  } catch (...) {
    unpark(by);
    throw;
  }
  unpark(by);
}

// A place that is lost while it asks for a collection leaves threads that are to stop for none.
bool heap_core::is_collector_there(thread_state& of) {
  const std::uint32_t collector = shared_->collecting.look();
  if (collector == 0 || !has_ended(*current->job, collector - 1)) return true;
  of.section_->due.fetch_and(~stop_is_due, std::memory_order_relaxed);
  return false;
}

void heap_core::wait_at_safe_point(thread_state& of) {
  check_outside(of, "a safe point");
  const std::uint32_t due = of.section_->due.load(std::memory_order_relaxed);
  if ((due & stop_is_due) != 0) {
    park(of);
    try {
      while (is_collector_there(of) && of.its().threads == nullptr &&
             (of.section_->due.load(std::memory_order_relaxed) & stop_is_due) != 0) {
        progress();
        give_way();
      }
    } catch (...) {
      unpark(of);
      throw;
    }
    unpark(of);
  }
  if ((due & (own_collection_is_due | always_due)) != 0) collect_own(of);
  if ((of.section_->due.fetch_and(~collection_is_due, std::memory_order_relaxed) & collection_is_due) != 0) collect(of);
}

}  // namespace situ::detail
