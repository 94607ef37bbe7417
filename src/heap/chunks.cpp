// Chunks of memory, of this place or asked for at another one, and the rooms in them that objects are copied to.
#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/at.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

namespace {

// Chunks are aligned to more than a page, so the rest of the last page is nobody's.
std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

// By the place's own thread.
void heap_core::free_chunk(heap_chunk* chunk) {
  if (chunk->kind == chunk_kind::ordinary) share_pages(chunk, whole_pages(chunk->bytes));
  deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(chunk)});
}

// By the place's own thread.
heap_chunk* heap_core::make_chunk(chunk_kind kind, std::size_t bytes) {
  heap_chunk* made = nullptr;
  const std::size_t whole = std::max(chunk_bytes, whole_pages(bytes + sizeof(heap_chunk)));
  const std::lock_guard hold{lock_};
  for (heap_chunk* const each : to_deallocate_) free_chunk(each);
  to_deallocate_.clear();
  if (const auto same = std::ranges::find_if(free_chunks_, [&](const heap_chunk* each) { return each->kind == kind; });
      whole == chunk_bytes && same != free_chunks_.end()) {
    made = *same;
    free_chunks_.erase(same);
  } else {
    const ptr<std::byte> block = situ::allocate_bytes(whole, {.alignment = chunk_bytes});
    if (kind == chunk_kind::ordinary) home_pages(block.local(), whole_pages(whole), here_);
    made = new (block.local()) heap_chunk{};
    made->bytes = whole;
    made->home = here_;
    made->kind = kind;
  }
  made->top = made->first();
  made->live_bytes = 0;
  made->is_young = false;
  write_back(made, sizeof(heap_chunk));
  chunks_.push_back(made);
  return made;
}

heap_chunk* heap_core::get_chunk(thread_state& by, std::uint32_t home, chunk_kind kind, std::size_t bytes,
                                 bool may_spill) {
  const operation_under_way waits{by};
  std::string refusal;
  for (std::uint32_t i = 0; i < (may_spill ? places_ : 1); ++i) {
    const std::uint32_t from = (home + i) % places_;
    try {
      heap_chunk* const made = by_own_thread(by, [&] {
        if (from == here_) return make_chunk(kind, bytes);
        return reinterpret_cast<heap_chunk*>(situ::at(
            place{from},
            [](std::uint64_t core, chunk_kind of, std::uint64_t n) {
              return reinterpret_cast<std::uint64_t>(reinterpret_cast<heap_core*>(core)->make_chunk(of, n));
            },
            cores_[from], kind, std::uint64_t{bytes}));
      });
      if (i == 0) return made;
      const std::lock_guard hold{lock_};
      ++counts_.spilled_objects;
      if (!has_said_spill_)
        log(log_level::warning,
            fmt::format("place {} has no room for an object heap's chunk of {} bytes: taken at place {} "
                        "instead, as later ones may be ({})",
                        home, bytes, from, refusal));
      has_said_spill_ = true;
      return made;
    } catch (const error& refused) {
      const errc code = refused.code();
      const bool is_full = code == errc::out_of_memory || (code == errc::remote_exception &&
                                                           refused.message().find("no room") != std::string_view::npos);
      if (!is_full) throw;
      if (refusal.empty()) refusal = refused.message();
    }
  }
  throw_error(errc::out_of_memory, fmt::format("no place has room for {} bytes of an object heap: {}", bytes, refusal));
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

heap_object* heap_core::room_for_copy(thread_state& by, const copy_target& to, std::uint32_t words,
                                      std::unique_lock<std::mutex>& lock) {
  const std::size_t bytes = object_bytes(words);
  const auto named = [words](std::byte* at) {
    auto* const made = reinterpret_cast<heap_object*>(at);
    made->self = 0;
    made->words = words;
    return made;
  };
  while (true) {
    auto room = std::ranges::find(rooms_, to, &copy_room::to);
    if (room != rooms_.end()) {
      heap_chunk& in = *room->chunk;
      if (bytes <= static_cast<std::size_t>(in.limit() - in.top)) {
        std::byte* const at = in.top;
        heap_object* const made = named(at);
        in.top += bytes;
        return made;
      }
    }
    lock.unlock();
    heap_chunk* const more = get_chunk(by, to.home, to.kind, bytes);
    lock.lock();
    if (more->is_large()) {
      heap_object* const made = named(more->first());
      more->top = more->first() + bytes;
      return made;
    }
    room = std::ranges::find(rooms_, to, &copy_room::to);
    if (room == rooms_.end())
      rooms_.push_back({to, more});
    else
      room->chunk = more;
  }
}

}  // namespace situ::detail
