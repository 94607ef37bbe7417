// A chunk: memory of one home, filled with objects from its beginning. It is aligned to its usual size, so the chunk of
// an object follows from the object's address. An object that is too large for one has a longer chunk of its own.
#pragma once

#include <situ/heap/detail/heap_core.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace situ::detail {

inline constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

// The caching of a chunk's memory, if places are not coherent.
enum class chunk_kind : std::uint8_t {
  ordinary,     // by its home alone
  read_mostly,  // by each place that reads it
};

// The distance from the header to the first object. Each place caches the read-mostly objects of all places, and chunks
// are aligned alike: without this distance, the first objects of all places would fall into the same sets of its
// caches. (On tile64, a look-up among 256 objects of four places then took 124 cycles, for 76 with it.)
[[nodiscard]] constexpr std::size_t colour_bytes(chunk_kind kind, std::uint32_t home) noexcept {
  return kind == chunk_kind::read_mostly ? std::size_t{home % 8} * 4096 : 0;
}

struct alignas(64) heap_chunk {
  std::uint64_t bytes = 0;        // with this header
  std::atomic<std::byte*> top{};  // the end of its objects: whoever fills it has written their `words` before
  std::uint64_t live_bytes = 0;   // counted by a collection of all places
  std::uint32_t home = 0;
  chunk_kind kind = chunk_kind::ordinary;
  std::atomic<bool> is_young{false};  // a thread makes its own objects in it
  // In a thread's list of young chunks, and its next own collection takes it off and leaves its objects there: it had
  // no room for some of them, or they are shared from the beginning.
  bool stays = false;

  [[nodiscard]] std::byte* first() noexcept {
    return reinterpret_cast<std::byte*>(this + 1) + colour_bytes(kind, home);
  }
  [[nodiscard]] std::byte* limit() noexcept { return reinterpret_cast<std::byte*>(this) + bytes; }
  [[nodiscard]] bool is_large() const noexcept { return bytes > chunk_bytes; }
};
static_assert(sizeof(heap_chunk) == 64);

[[nodiscard]] inline heap_chunk* chunk_of(const heap_object* of) noexcept {
  return reinterpret_cast<heap_chunk*>(reinterpret_cast<std::uintptr_t>(of) & ~(chunk_bytes - 1));
}

// Calls f for each object of a chunk, dead ones included, and those that are not published yet: `self` may be 0. f may
// copy the object, and leaves the words of its header as they are.
template <class F>
void each_object(heap_chunk& in, const F& f) {
  const std::byte* const end = in.top.load(std::memory_order_acquire);
  for (std::byte* at = in.first(); at < end;) {
    auto* const object = reinterpret_cast<heap_object*>(at);
    at += object_bytes(racing_load(object->words));
    f(*object);
  }
}

// The reference whose object this is or has been; 0 if it has not been published.
[[nodiscard]] inline std::uint32_t self_of(const heap_object& object) noexcept { return racing_load(object.self); }

// Copies an object to room of so many words; somebody may look through the chunk of the copy meanwhile.
inline void copy_object(heap_object& to, const heap_object& from, std::uint32_t self) noexcept {
  constexpr std::size_t begin = offsetof(heap_object, type);
  std::memcpy(reinterpret_cast<std::byte*>(&to) + begin, reinterpret_cast<const std::byte*>(&from) + begin,
              sizeof(heap_object) - begin + std::size_t{4} * from.words);
  racing_store(to.self, self);
}

}  // namespace situ::detail
