// Two references exchange what they refer to: both objects are copied, each with the other's number, and the two
// entries are published. So a thread that reads meanwhile finds the one object or the other, whole.
//
// The place publishes the two entries one after the other. If it is lost between them, both references have one object,
// and the other object has none. So the place first writes into the shared state which entries it is about to publish
// (exchange_intent). A thread that waits for the second entry publishes that entry for the lost place.
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "heap/heap_core.h"
#include "heap/marked_entries.h"
#include "os/host.h"

namespace situ::detail {

void heap_core::exchange(thread_state& by, std::uint32_t a, std::uint32_t b, std::uint16_t tag_bits_that_stay) {
  check_outside(by, "an exchange of objects");
  for (const std::uint32_t each : {a, b})
    if ((checked_entry(ref<>{each}) & entry_is_shared) == 0) share(by, each);
  if (a == b) return;
  while (const std::uint32_t busy = try_exchange(by, a, b, tag_bits_that_stay)) wait_while_moving(by, busy);
}

// Returns the reference whose object another one moves or has moved meanwhile, or 0 when it is done.
std::uint32_t heap_core::try_exchange(thread_state& by, std::uint32_t a, std::uint32_t b,
                                      std::uint16_t tag_bits_that_stay) {
  struct part {
    std::uint32_t raw;
    std::uint32_t other;
    heap_object* copy = nullptr;  // of the object that `other` refers to, for `raw`
    std::uint64_t published = 0;
  };
  std::array<part, 2> parts{part{a, b}, part{b, a}};
  {
    std::unique_lock lock{lock_};
    for (part& each : parts) {
      const found_object found = look_at(by, each.other);
      each.copy = room_for_copy(by, found.at, found.words, lock);
    }
  }
  marked_entries marked{here_};
  std::vector<stale_range> stale;
  for (const part& each : parts) {
    if (!marked.mark(at_entry(each.raw))) return each.raw;  // its mover may wait for the other: both marks come off
    if (options_.table == heap_table::replicated)
      stale.emplace_back(reinterpret_cast<std::uint64_t>(at_entry(each.raw)), 8);
  }
  for (const part& each : parts)
    if (object_of_entry(changing_entry(each.other))->words != each.copy->words) return each.other;
  ask_all(by, stale);
  bool are_remembered = false;
  for (part& each : parts) {
    const std::uint64_t its = changing_entry(each.other);
    const heap_object& old = *object_of_entry(its);
    const heap_object& before = *object_of_entry(changing_entry(each.raw));
    copy_object(*each.copy, old, each.raw);
    each.copy->tag = static_cast<std::uint16_t>((old.tag & ~tag_bits_that_stay) | (before.tag & tag_bits_that_stay));
    const std::size_t bytes = sizeof(heap_object) + std::size_t{4} * old.words;
    if (chunk_of(each.copy)->kind == chunk_kind::read_mostly) write_back(each.copy, bytes);
    if ((its & entry_is_read_mostly) != 0) stale.emplace_back(reinterpret_cast<std::uint64_t>(&old), bytes);
    each.published = reinterpret_cast<std::uint64_t>(each.copy) | entry_is_shared |
                     (chunk_of(each.copy)->kind == chunk_kind::read_mostly ? entry_is_read_mostly : 0);
    are_remembered |= (its & entry_is_remembered) != 0;
  }
  {
    const std::lock_guard one_at_a_time{exchanges_lock_};
    exchange_intent& intent = shared_->intents[here_];
    for (std::size_t i = 0; i < 2; ++i) {
      intent.raws[i].store(parts[i].raw, std::memory_order_relaxed);
      intent.published[i].store(parts[i].published, std::memory_order_relaxed);
    }
    intent.is_valid.store(1, std::memory_order_release);
    marked.publish_last(parts[1].published);
    marked.publish_last(parts[0].published);
    intent.is_valid.store(0, std::memory_order_release);
  }
  ask_all(by, stale);
  if (are_remembered)
    for (const part& each : parts) remember(by, each.raw);
  return 0;
}

// Takes off the mark of a lost mover, for a thread that waits for the move. The object stays at its place. If the mover
// was publishing both parts of an exchange, the waiting thread publishes both instead.
void heap_core::end_move_of_lost(std::uint32_t raw, std::uint64_t found) {
  const std::uint64_t its_mark = found & (entry_is_moving | entry_mover_bits);
  const exchange_intent& intent = shared_->intents[(found >> entry_mover_shift) - 1];
  bool is_exchange = false;
  if (intent.is_valid.load(std::memory_order_acquire) != 0)
    for (const auto& each : intent.raws) is_exchange |= each.load(std::memory_order_relaxed) == raw;
  if (!is_exchange) {
    changing(at_entry(raw)).compare_exchange_strong(found, found & ~its_mark);
    return;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto entry = changing(at_entry(intent.raws[i].load(std::memory_order_relaxed)));
    std::uint64_t before = entry.load(std::memory_order_acquire);
    while ((before & (entry_is_moving | entry_mover_bits)) == its_mark &&
           !entry.compare_exchange_weak(
               before, intent.published[i].load(std::memory_order_relaxed) | (before & entry_is_remembered))) {}
  }
}

}  // namespace situ::detail
