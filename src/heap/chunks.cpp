// Chunks of memory: this place allocates them, or asks another place for them. Rooms in chunks, to which objects are
// copied.
#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {
namespace {

// Chunks are aligned to more than a page, so the rest of the last page is nobody's.
std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

// pre: the place's own thread calls it.
void heap_core::free_chunk(heap_chunk* chunk) {
  if (chunk->kind == chunk_kind::ordinary) share_pages(chunk, whole_pages(chunk->bytes));
  deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(chunk)});
}

// pre: as free_chunk; lock_ is held.
void heap_core::free_chunks(std::vector<heap_chunk*>& chunks) {
  for (heap_chunk* const each : chunks) free_chunk(each);
  chunks.clear();
}

// Returns null if this place has no room. pre: the place's own thread calls it.
heap_chunk* heap_core::make_chunk(chunk_kind kind, std::size_t bytes) {
  heap_chunk* made = nullptr;
  const std::size_t whole = std::max(chunk_bytes, whole_pages(bytes + sizeof(heap_chunk) + colour_bytes(kind, here_)));
  const std::lock_guard hold{lock_};
  free_chunks(to_deallocate_);
  if (const auto same = std::ranges::find_if(free_chunks_, [&](const heap_chunk* each) { return each->kind == kind; });
      whole == chunk_bytes && same != free_chunks_.end()) {
    made = *same;
    free_chunks_.erase(same);
  } else {
    const auto allocated = [&]() -> std::byte* {
      try {
        return situ::allocate_bytes(whole, {.alignment = chunk_bytes}).local();
      } catch (const error& refused) {
        if (refused.code() != errc::out_of_memory) throw;
        return nullptr;
      }
    };
    std::byte* block = allocated();
    if (block == nullptr && !free_chunks_.empty()) {  // they may be of the other kind, or too small each
      free_chunks(free_chunks_);
      block = allocated();
    }
    if (block == nullptr) return nullptr;
    if (kind == chunk_kind::ordinary) home_pages(block, whole_pages(whole), here_);
    made = new (block) heap_chunk{};
    made->bytes = whole;
    made->home = here_;
    made->kind = kind;
  }
  made->top = made->first();
  made->live_bytes = 0;
  made->is_young = false;
  made->stays = false;
  write_back(made, sizeof(heap_chunk));
  chunks_.push_back(made);
  return made;
}

heap_chunk* heap_core::chunk_here(thread_state& by, chunk_kind kind, std::size_t bytes) {
  const operation_under_way waits{by};
  return by_own_thread(by, [&] { return make_chunk(kind, bytes); });
}

heap_chunk* heap_core::chunk_at(thread_state& by, std::uint32_t home, chunk_kind kind, std::size_t bytes) {
  if (home == here_) return chunk_here(by, kind, bytes);
  return by_own_thread(by, [&] {
    return reinterpret_cast<heap_chunk*>(situ::at(
        place{home},
        [](std::uint64_t core, chunk_kind of, std::uint64_t n) {
          return reinterpret_cast<std::uint64_t>(reinterpret_cast<heap_core*>(core)->make_chunk(of, n));
        },
        cores_[home], kind, std::uint64_t{bytes}));
  });
}

heap_chunk* heap_core::get_chunk(thread_state& by, std::uint32_t home, chunk_kind kind, std::size_t bytes) {
  const operation_under_way waits{by};
  for (std::uint32_t i = 0; i < places_; ++i) {
    const std::uint32_t from = (home + i) % places_;
    if (i != 0 && has_ended(*current->job, from)) continue;  // a home that is lost is an error, a lost neighbour is not
    heap_chunk* made = nullptr;
    try {
      made = chunk_at(by, from, kind, bytes);
    } catch (const place_lost_error&) {
      if (i == 0) throw;
    }
    if (made == nullptr) continue;
    if (i != 0) say_spill(by, fmt::format("a chunk of {} bytes at place {}", bytes, home), from);
    return made;
  }
  ask_for_collection(by);
  throw_error(errc::out_of_memory, fmt::format("no place has room for a chunk of {} bytes of an object heap: give the "
                                               "job more memory, or call safe_point() more often",
                                               bytes));
}

void heap_core::say_spill(thread_state& by, std::string_view what, std::uint32_t taken_at) {
  ask_for_collection(by);
  {
    const std::lock_guard hold{lock_};
    ++counts_.spills;
    if (std::exchange(has_said_spill_, true)) return;
  }
  log(log_level::warning, fmt::format("an object heap has no room for {}: taken at place {} instead, as later ones may "
                                      "be",
                                      what, taken_at));
}

// Memory or entries are short: a collection of all places may free some.
void heap_core::ask_for_collection(thread_state& by) {
  if (options_.collect_after != 0) by.section_->due.fetch_or(collection_is_due, std::memory_order_relaxed);
}

// pre: lock_ is held.
void heap_core::retire(heap_chunk* chunk) {
  std::erase(chunks_, chunk);
  (chunk->is_large() ? to_deallocate_ : free_chunks_).push_back(chunk);
}

std::uint64_t heap_core::bytes_held() const {
  const std::lock_guard hold{lock_};
  std::uint64_t sum = 0;
  for (const heap_chunk* each : chunks_) sum += each->bytes;
  return sum;
}

// pre: lock_ is held. Returns null if the room at hand is too small.
heap_object* heap_core::room_at_hand(const copy_target& to, std::uint32_t words) {
  const auto room = std::ranges::find(rooms_, to, &copy_room::to);
  if (room == rooms_.end()) return nullptr;
  heap_chunk& in = *room->chunk;
  std::byte* const at = in.top.load(std::memory_order_relaxed);
  if (object_bytes(words) > static_cast<std::size_t>(in.limit() - at)) return nullptr;
  return room_in(in, words);
}

// Returns the next room of a chunk, with a header that names no object yet: others may look through the chunk.
heap_object* heap_core::room_in(heap_chunk& in, std::uint32_t words) {
  std::byte* const at = in.top.load(std::memory_order_relaxed);
  auto* const made = reinterpret_cast<heap_object*>(at);
  racing_store(made->self, 0U);
  racing_store(made->words, words);
  in.top.store(at + object_bytes(words), std::memory_order_release);
  return made;
}

// pre: lock_ is held.
heap_object* heap_core::room_of_new_chunk(heap_chunk& more, const copy_target& to, std::uint32_t words) {
  if (!more.is_large()) {
    const auto room = std::ranges::find(rooms_, to, &copy_room::to);
    if (room == rooms_.end())
      rooms_.push_back({to, &more});
    else
      room->chunk = &more;
  }
  return room_in(more, words);
}

heap_object* heap_core::room_for_copy(thread_state& by, const copy_target& to, std::uint32_t words,
                                      std::unique_lock<std::mutex>& lock) {
  if (heap_object* const made = room_at_hand(to, words)) return made;
  lock.unlock();
  heap_chunk* const more = get_chunk(by, to.home, to.kind, object_bytes(words));
  lock.lock();
  return room_of_new_chunk(*more, to, words);
}

heap_object* heap_core::room_here(thread_state& by, chunk_kind kind, std::uint32_t words,
                                  std::unique_lock<std::mutex>& lock) {
  const copy_target to{here_, kind};
  if (heap_object* const made = room_at_hand(to, words)) return made;
  lock.unlock();
  heap_chunk* const more = chunk_here(by, kind, object_bytes(words));
  lock.lock();
  return more == nullptr ? nullptr : room_of_new_chunk(*more, to, words);
}

}  // namespace situ::detail
