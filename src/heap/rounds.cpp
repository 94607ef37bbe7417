// A round: a question to all places, which each answers when its threads have left the sections that they were in, and
// when it has dropped what its caches hold of ranges that change.
//
//   the mover                                     a thread in a section
//   marks entries                                 section = odd
//   orders all threads (membarrier)               loads the entry: not marked
//   reads the thread's word: odd                  stores into the object
//   waits until the word has changed              section = even
//   copies: no store can come any more            the next section finds the mark
//
// If places are coherent, the mover reads the words of all threads itself: no place need answer. Otherwise the mover
// sends messages, since each place must drop its own lines.
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

void heap_core::wait_outside(section_word& word, std::uint32_t place, std::uint32_t number) {
  if (word.is_used.load(std::memory_order_acquire) == 0) return;
  const std::uint64_t seen = word.value.load(std::memory_order_acquire);
  if ((seen & 1) == 0) return;
  const std::uint64_t began = steady_ns();
  std::uint64_t said = began;
  for (std::uint32_t looks = 0; word.value.load(std::memory_order_acquire) == seen; ++looks) {
    if (looks < 100) continue;
    give_way();
    if (looks % 16 != 0) continue;  // on a busy machine each turn lasts as long as others compute
    if (has_ended(*current->job, place)) return;
    const std::uint64_t now = steady_ns();
    if (now - said < static_cast<std::uint64_t>(options_.patience.count()) * 1'000'000) continue;
    said = now;
    log(log_level::warning,
        fmt::format(
            "thread {} of place {} has been in a section of an object heap for {} ms, and place {} waits for its "
            "end: make the section shorter, or call poll() in it",
            number, place, (now - began) / 1'000'000, here_));
  }
}

// The place that is asked runs it. but: the asking thread's own word, or null.
void heap_core::answer(std::span<const stale_range> stale, const section_word* but) {
  const std::uint32_t used = racing_load(words_used_);
  for (std::uint32_t i = 0; i < used; ++i) {
    section_word* const word = words_[std::size_t{here_} * most_threads + i];
    if (word != but) wait_outside(*word, here_, i);
  }
  for (const auto& [begin, bytes] : stale) invalidate(reinterpret_cast<const void*>(begin), bytes);
}

// A collection of all places has stopped the others; a job's only thread of a heap has nobody to ask.
bool heap_core::needs_rounds() const {
  if (is_stopped_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard hold{lock_};
  return places_ > 1 || threads_.size() > 1;
}

void heap_core::ask_all(thread_state& by, std::span<const stale_range> stale) {
  if (!needs_rounds()) return;
  const operation_under_way waits{by};
  {
    const std::lock_guard hold{lock_};
    ++counts_.rounds;
  }
  if constexpr (has_coherent_places) {
    if (!has_strong_sections_) order_processes();
    for (std::uint32_t p = 0; p < places_; ++p)
      for (std::uint32_t i = 0; i < most_threads; ++i)
        if (section_word* const word = words_[std::size_t{p} * most_threads + i]; word != by.section_)
          wait_outside(*word, p, i);
    return;
  }
  answer(stale, by.section_);
  if (places_ == 1) return;
  by_own_thread(by, [&] {
    const std::vector<stale_range> told{stale.begin(), stale.end()};
    std::vector<future<void>> answers;
    for (std::uint32_t p = 0; p < places_; ++p)
      if (p != here_)
        answers.push_back(situ::async_at(
            place{p},
            [](std::uint64_t core, const std::vector<stale_range>& ranges) {
              reinterpret_cast<heap_core*>(core)->answer(ranges, nullptr);
            },
            cores_[p], told));
    for (future<void>& each : answers) each.get();
  });
}

}  // namespace situ::detail
