// A chunk: memory of one home, filled with objects from its beginning. It is aligned to its usual size, so the chunk of
// an object follows from the object's address. An object that is too large for one has a longer chunk of its own.
#pragma once

#include <situ/heap/detail/heap_object.h>

#include <cstddef>
#include <cstdint>

namespace situ::detail {

inline constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

// How the memory of a chunk is cached where places are not coherent.
enum class chunk_kind : std::uint8_t {
  ordinary,     // by its home alone
  read_mostly,  // by each place that reads it
};

struct alignas(64) heap_chunk {
  std::uint64_t bytes = 0;       // with this header
  std::byte* top = nullptr;      // the end of its objects, once whoever fills it has stopped
  std::uint64_t live_bytes = 0;  // counted by a collection of all places
  std::uint32_t home = 0;
  chunk_kind kind = chunk_kind::ordinary;
  bool is_young = false;

  [[nodiscard]] std::byte* first() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::byte* limit() noexcept { return reinterpret_cast<std::byte*>(this) + bytes; }
  [[nodiscard]] bool is_large() const noexcept { return bytes > chunk_bytes; }
};
static_assert(sizeof(heap_chunk) == 64);

[[nodiscard]] inline heap_chunk* chunk_of(const heap_object* of) noexcept {
  return reinterpret_cast<heap_chunk*>(reinterpret_cast<std::uintptr_t>(of) & ~(chunk_bytes - 1));
}

// Calls f for each object of a chunk, dead ones included. f may copy the object, and leaves its header as it is.
template <class F>
void each_object(heap_chunk& in, const F& f) {
  for (std::byte* at = in.first(); at < in.top;) {
    auto* const object = reinterpret_cast<heap_object*>(at);
    at += object_bytes(object->words);
    f(*object);
  }
}

}  // namespace situ::detail
