// The arena: the block of memory that holds a copied graph, and the counted references to it.
#pragma once

#include <situ/graph/detail/make_descriptor.h>
#include <situ/memory/detail/place_context.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace situ::detail {

// The head of an arena: the first 32 bytes of a copied graph.
struct arena {
  static constexpr std::uint16_t in_segment = 1;

  std::uint64_t bytes = 0;  // of the arena, this head included
  std::uint64_t objects = 0;
  // objects that may own memory: offset in units, type << 48, and for a block its number of elements
  std::uint64_t* finalizers = nullptr;
  std::uint32_t references = 1;
  std::uint16_t flags = 0;       // in_segment: the arena is in a segment, and so are the finalizers
  std::uint16_t lead_bytes = 0;  // unused bytes before this head
};
static_assert(sizeof(arena) == 32);
void free_arena(arena* a) noexcept;

class arena_reference {
 public:
  arena_reference() noexcept = default;
  // Takes over one reference.
  explicit arena_reference(arena* a) noexcept
      : arena_{a}, in_segment_{a != nullptr && (a->flags & arena::in_segment) != 0} {}
  arena_reference(const arena_reference& other) noexcept : arena_{other.arena_}, in_segment_{other.in_segment_} {
    if (arena_ != nullptr) ++arena_->references;
  }
  arena_reference(arena_reference&& other) noexcept
      : arena_{std::exchange(other.arena_, nullptr)}, in_segment_{other.in_segment_} {}
  arena_reference& operator=(arena_reference other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(in_segment_, other.in_segment_);
    return *this;
  }
  // An owner may outlive its runtime, as a thread_local one does: the segment was freed with the job then, and nothing
  // of it may be touched.
  ~arena_reference() {
    if (arena_ == nullptr || (in_segment_ && current->place_count == 0)) return;
    if (--arena_->references == 0) free_arena(arena_);
  }
  [[nodiscard]] arena* get() const noexcept { return arena_; }

 private:
  arena* arena_ = nullptr;
  bool in_segment_ = false;
};

// The root of a graph.
struct graph_root {
  const void* object = nullptr;
  const type_descriptor* type = nullptr;
};

template <class T>
[[nodiscard]] graph_root root_of(const T* object) {
  static_assert(std::is_class_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>,
                "situ::clone copies described objects");
  static_assert(check_class<std::remove_cv_t<T>>());
  return {object, &descriptor_of<std::remove_cv_t<T>>()};
}

}  // namespace situ::detail
