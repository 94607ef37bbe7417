// Objects move while threads use them, and no store is lost. docs/design/heap.md works the protocol through.
#include <situ/base/error_code.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/task.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "heap/marked_entries.h"
#include "os/host.h"

namespace situ::detail {
void check_outside(const thread_state& by, const char* what) {
  if (by.is_in_section())
    throw_error(errc::bad_argument,
                fmt::format("{} within a section of an object heap would wait for that section's end: "
                            "end the section before",
                            what));
}

void heap_core::wait_while_moving(thread_state& by, std::uint32_t raw) {
  const operation_under_way waits{by};
  for (std::uint32_t looks = 0;; ++looks) {
    const std::uint64_t its = changing_entry(raw);
    if ((its & entry_is_moving) == 0) return;
    if (looks < 100) continue;
    // The mover may wait for an answer of this place.
    if (!has_coherent_places && by.its().threads == nullptr) progress();
    give_way();
    const auto mover = static_cast<std::uint32_t>(its >> entry_mover_shift) - 1;
    if (looks % 16 != 0 || !has_ended(*current->job, mover)) continue;
    end_move_of_lost(raw, its);
  }
}

// Room for the copies is taken before the entries are marked: a place that is asked for memory may be one that waits
// for a marked object.
std::uint64_t heap_core::relocate(thread_state& by, std::span<const std::uint32_t> raws, copy_target to,
                                  copy_which which) {
  check_outside(by, "a move of objects");
  struct planned {
    std::uint32_t raw;
    heap_object* copy;
    std::uint64_t published;
  };
  std::uint64_t moved = 0;
  std::vector<std::uint32_t> pending{raws.begin(), raws.end()};
  for (const std::uint32_t raw : pending)
    if ((checked_entry(ref<>{raw}) & entry_is_shared) == 0) share(by, raw);
  while (!pending.empty()) {
    std::vector<planned> plan;
    {
      std::unique_lock lock{lock_};
      for (const std::uint32_t raw : pending) {
        const found_object found = look_at(by, raw);
        if (which == copy_which::young) {
          if (!found.is_young) continue;
          if (heap_object* const copy = room_here(by, to.kind, found.words, lock)) plan.push_back({raw, copy, 0});
          continue;
        }
        const copy_target there{which == copy_which::at_their_home ? found.at.home : to.home, to.kind};
        if (found.at == there && !found.is_young && (found.entry & entry_is_moving) == 0) continue;
        plan.push_back({raw, room_for_copy(by, there, found.words, lock), 0});
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
        copy_object(*each.copy, *old, each.raw);
        if (to.kind == chunk_kind::ordinary && (its & entry_is_read_mostly) != 0) each.copy->age = 0;
        if (to.kind == chunk_kind::read_mostly) write_back(each.copy, bytes);
        if ((its & entry_is_read_mostly) != 0) stale.emplace_back(reinterpret_cast<std::uint64_t>(old), bytes);
        each.published = reinterpret_cast<std::uint64_t>(each.copy) | entry_is_shared |
                         (to.kind == chunk_kind::read_mostly ? entry_is_read_mostly : 0);
      }
      for (std::size_t i = plan.size(); i-- > 0;) marked.publish_last(plan[i].published);
      moved += plan.size();
      ask_all(by, stale);
      const std::lock_guard hold{lock_};
      counts_.objects_moved += plan.size();
      if (to.kind == chunk_kind::read_mostly) counts_.made_read_mostly += plan.size();
    } else if (!pending.empty()) {
      wait_while_moving(by, pending.front());
    }
  }
  return moved;
}

// In a section: the object may move meanwhile, and its old room be used for others as soon as nobody is in one.
heap_core::found_object heap_core::look_at(thread_state& by, std::uint32_t raw) {
  by.enter();
  const std::uint64_t its = changing_entry(raw);
  const heap_object* const object = object_of_entry(its);
  const heap_chunk* const chunk = chunk_of(object);
  const chunk_kind kind = (its & entry_is_read_mostly) != 0 ? chunk_kind::read_mostly : chunk_kind::ordinary;
  const found_object found{its, {home_of(object), kind}, object->words, chunk->is_young.load()};
  by.leave();
  return found;
}

ref<> heap_core::make_at(thread_state& by, std::uint32_t home, std::uint8_t layout, std::uint32_t words,
                         std::uint32_t type, std::uint16_t tag, std::uint32_t fill) {
  check_outside(by, "allocate_at()");
  if (object_bytes(words) > most_object_bytes) throw_too_large(object_bytes(words));
  const std::uint32_t raw = by.find_entry();
  by.take_entry();
  heap_object* made = nullptr;
  {
    std::unique_lock lock{lock_};
    made = room_for_copy(by, {home, chunk_kind::ordinary}, words, lock);
  }
  by.begin_object(made, raw, layout, words, type, tag, fill);
  share(by, raw);  // with what `type` and `fill` refer to
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
        const std::uint32_t self = self_of(object);
        const std::uint64_t its = entry(self);
        if (object_of_entry(its) == &object && (its & entry_is_shared) != 0 && may_be_read_mostly(object))
          all.push_back(self);
      });
    }
  }
  return relocate(by, all, {0, chunk_kind::read_mostly}, copy_which::at_their_home);
}

void heap_core::make_ordinary(thread_state& by, std::uint32_t raw) {
  (void)relocate(by, {&raw, 1}, {0, chunk_kind::ordinary}, copy_which::at_their_home);
  const std::lock_guard hold{lock_};
  ++counts_.stores_to_read_mostly;
}

}  // namespace situ::detail
