// Objects move while others use them, and lose no store; two references exchange what they refer to. docs/design/heap.md
// works the protocol through.
#include <situ/base/error_code.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/task.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {
namespace {

std::atomic_ref<std::uint64_t> changing(std::uint64_t* entry) { return std::atomic_ref<std::uint64_t>{*entry}; }

// The marks that a mover has set, which it takes off again if it does not get as far as to publish.
class marked_entries {
 public:
  explicit marked_entries(std::uint32_t mover) noexcept
      : mark_{entry_is_moving | std::uint64_t{mover + 1} << entry_mover_shift} {}
  ~marked_entries() {
    for (std::uint64_t* each : entries_) take_off(each);
  }
  marked_entries(const marked_entries&) = delete;
  marked_entries& operator=(const marked_entries&) = delete;

  // Returns false if another one moves the object.
  [[nodiscard]] bool mark(std::uint64_t* entry) {
    std::uint64_t before = changing(entry).load(std::memory_order_acquire);
    do {
      if ((before & entry_is_moving) != 0) return false;
    } while (!changing(entry).compare_exchange_weak(before, before | mark_, std::memory_order_seq_cst));
    entries_.push_back(entry);
    return true;
  }
  void unmark_last() noexcept {
    take_off(entries_.back());
    entries_.pop_back();
  }
  // Publishes the entry that was marked last of those that still are.
  void publish_last(std::uint64_t value) {
    changing(entries_.back()).store(value, std::memory_order_release);
    entries_.pop_back();
  }

 private:
  static void take_off(std::uint64_t* entry) noexcept {
    changing(entry).fetch_and(~(entry_is_moving | entry_mover_bits), std::memory_order_release);
  }
  std::uint64_t mark_;
  std::vector<std::uint64_t*> entries_;
};

void check_outside(const thread_state& by, const char* what) {
  if (by.is_in_section())
    throw_error(errc::bad_argument,
                fmt::format("{} within a section of an object heap would wait for that section's end: "
                            "end the section before",
                            what));
}

}  // namespace

void heap_core::wait_while_moving(thread_state& by, std::uint32_t raw) {
  const operation_under_way waits{by};
  for (std::uint32_t looks = 0;; ++looks) {
    std::uint64_t its = changing_entry(raw);
    if ((its & entry_is_moving) == 0) return;
    if (looks < 100) continue;
    // The mover may wait for an answer of this place.
    if (!has_coherent_places && by.its().threads == nullptr) progress();
    give_way();
    const auto mover = static_cast<std::uint32_t>(its >> entry_mover_shift) - 1;
    if (looks % 256 != 0 || !has_ended(*current->job, mover)) continue;
    // The mover is lost, and has not published: the object stays where it is.
    changing(at_entry(raw)).compare_exchange_strong(its, its & ~(entry_is_moving | entry_mover_bits));
  }
}

// Room for the copies is taken before the entries are marked: a place that is asked for memory may be one that waits for a
// marked object.
void heap_core::relocate(thread_state& by, std::span<const std::uint32_t> raws, copy_target to, bool keeps_home) {
  check_outside(by, "a move of objects");
  struct planned {
    std::uint32_t raw;
    heap_object* copy;
    std::uint64_t published;
  };
  std::vector<std::uint32_t> pending{raws.begin(), raws.end()};
  for (const std::uint32_t raw : pending)
    if ((checked_entry(ref<>{raw}) & entry_is_shared) == 0) share(by, raw);
  while (!pending.empty()) {
    std::vector<planned> plan;
    {
      std::unique_lock lock{lock_};
      for (const std::uint32_t raw : pending) {
        const std::uint64_t its = checked_entry(ref<>{raw});
        const heap_object* const object = object_of_entry(its);
        const copy_target there{keeps_home ? home_of(object) : to.home, to.kind};
        const chunk_kind kind = (its & entry_is_read_mostly) != 0 ? chunk_kind::read_mostly : chunk_kind::ordinary;
        const bool is_there = kind == to.kind && home_of(object) == there.home && !chunk_of(object)->is_young;
        if (is_there && (its & entry_is_moving) == 0) continue;
        plan.push_back({raw, room_for_copy(by, there, object->words, lock), 0});
      }
    }
    pending.clear();
    marked_entries marked{here_};
    std::vector<stale_range> stale;
    std::erase_if(plan, [&](const planned& each) {
      if (marked.mark(at_entry(each.raw))) {
        if (object_of_entry(changing_entry(each.raw))->words == each.copy->words) {
          if (options_.table == heap_table::replicated)
            stale.emplace_back(reinterpret_cast<std::uint64_t>(at_entry(each.raw)), 8);
          return false;
        }
        marked.unmark_last();  // exchanged for another object meanwhile
      }
      pending.push_back(each.raw);
      return true;
    });
    if (!plan.empty()) {
      ask_all(by, stale);
      for (planned& each : plan) {
        const std::uint64_t its = changing_entry(each.raw);
        const heap_object* const old = object_of_entry(its);
        const std::size_t bytes = sizeof(heap_object) + std::size_t{4} * old->words;
        std::memcpy(static_cast<void*>(each.copy), old, bytes);
        if (to.kind == chunk_kind::ordinary && (its & entry_is_read_mostly) != 0) each.copy->age = 0;
        if (to.kind == chunk_kind::read_mostly) write_back(each.copy, bytes);
        if ((its & entry_is_read_mostly) != 0) stale.emplace_back(reinterpret_cast<std::uint64_t>(old), bytes);
        each.published = reinterpret_cast<std::uint64_t>(each.copy) | (its & (entry_is_shared | entry_is_remembered)) |
                         (to.kind == chunk_kind::read_mostly ? entry_is_read_mostly : 0);
      }
      for (std::size_t i = plan.size(); i-- > 0;) marked.publish_last(plan[i].published);
      ask_all(by, stale);
      const std::lock_guard hold{lock_};
      counts_.objects_moved += plan.size();
      if (to.kind == chunk_kind::read_mostly) counts_.made_read_mostly += plan.size();
    } else if (!pending.empty()) {
      wait_while_moving(by, pending.front());
    }
  }
}

ref<> heap_core::make_at(thread_state& by, std::uint32_t home, std::uint8_t layout, std::uint32_t words,
                         std::uint32_t type, std::uint16_t tag, std::uint32_t fill) {
  check_outside(by, "allocate_at()");
  const std::uint32_t raw = by.claim_entry();
  std::unique_lock lock{lock_};
  heap_object* const made = room_for_copy(by, {home, chunk_kind::ordinary}, words, lock);
  shared_bytes_ += object_bytes(words);
  by.begin_object(made, raw, layout, words, type, tag, fill);
  changing(at_entry(raw)).fetch_or(entry_is_shared, std::memory_order_release);
  lock.unlock();
  if (must_publish_entries()) {
    const stale_range its{reinterpret_cast<std::uint64_t>(at_entry(raw)), 8};
    publish_entries(by, {&its, 1});
  }
  return ref<>{raw};
}

std::uint64_t heap_core::make_all_read_mostly(thread_state& by) {
  if (!replicates()) return 0;
  collect_own(by);
  std::vector<std::uint32_t> all;
  {
    const std::lock_guard hold{lock_};
    for (heap_chunk* const each : chunks_) {
      if (each->is_young || each->kind == chunk_kind::read_mostly) continue;
      each_object(*each, [&](heap_object& object) {
        const std::uint64_t its = entry(object.self);
        if (object_of_entry(its) == &object && (its & entry_is_shared) != 0 && may_be_read_mostly(object))
          all.push_back(object.self);
      });
    }
  }
  relocate(by, all, {0, chunk_kind::read_mostly}, true);
  return all.size();
}

void heap_core::make_ordinary(thread_state& by, std::uint32_t raw) {
  relocate(by, {&raw, 1}, {0, chunk_kind::ordinary}, true);
  const std::lock_guard hold{lock_};
  ++counts_.stores_to_read_mostly;
}

void heap_core::exchange(thread_state& by, std::uint32_t a, std::uint32_t b, std::uint16_t tag_bits_that_stay) {
  check_outside(by, "an exchange of objects");
  if (a == b) return;
  // Out of young chunks: their thread finds what others share in them by the entries that it has claimed itself.
  for (const std::uint32_t each : {a, b})
    if (const std::uint64_t its = checked_entry(ref<>{each});
        (its & entry_is_shared) == 0 || chunk_of(object_of_entry(its))->is_young)
      relocate(by, {&each, 1}, {0, chunk_kind::ordinary}, true);
  const auto try_both = [&]() -> std::uint32_t {  // returns the reference whose object another one moves, or 0
    marked_entries marked{here_};
    if (!marked.mark(at_entry(a))) return a;
    if (!marked.mark(at_entry(b))) return b;  // its mover may wait for a: the mark comes off
    std::vector<stale_range> stale;
    if (options_.table == heap_table::replicated)
      for (const std::uint32_t each : {a, b}) stale.emplace_back(reinterpret_cast<std::uint64_t>(at_entry(each)), 8);
    ask_all(by, stale);
    const std::uint64_t of_a = changing_entry(a), of_b = changing_entry(b);
    heap_object *const x = object_of_entry(of_a), *const y = object_of_entry(of_b);
    std::swap(x->self, y->self);
    const auto differing = static_cast<std::uint16_t>((x->tag ^ y->tag) & tag_bits_that_stay);
    x->tag ^= differing;
    y->tag ^= differing;
    for (heap_object* const each : {x, y})
      if (chunk_of(each)->kind == chunk_kind::read_mostly) {
        write_back(each, sizeof(heap_object));
        stale.emplace_back(reinterpret_cast<std::uint64_t>(each), sizeof(heap_object));
      }
    constexpr std::uint64_t goes_along = entry_address_bits | entry_is_read_mostly;
    marked.publish_last((of_a & goes_along) | entry_is_shared);  // b's
    marked.publish_last((of_b & goes_along) | entry_is_shared);
    ask_all(by, stale);
    if (((of_a | of_b) & entry_is_remembered) != 0)
      for (const std::uint32_t each : {a, b}) remember(by, each);
    return 0;
  };
  while (const std::uint32_t busy = try_both()) wait_while_moving(by, busy);
}

}  // namespace situ::detail
