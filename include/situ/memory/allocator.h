// Allocators for the standard library: containers whose elements other places can access.
//
//   std::vector<double, situ::allocator<double>> field(1000);      // in this place's segment
//   std::pmr::vector<double> other{1000, situ::segment_resource()};
//   std::vector<double, situ::intent_allocator<double>> fast(1000, situ::intent::bandwidth);  // in the fastest memory
//   std::pmr::vector<double> large{1000, situ::segment_resource(situ::intent::capacity)};
//   situ::shared_span<double> for_others{field};                   // fabric/shared_span.h
//
// Construct, grow and destroy such a container inside a runtime, from threads of places only; it must end before the
// runtime does. Another place than the one that made it may destroy it. Errors: as situ::allocate; deallocation
// without a runtime ends the program.
#pragma once

#include <situ/memory/allocate.h>

#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace situ {

namespace detail {
// An intent and its arena_key.
struct kept_intent {
  intent what;
  std::uint64_t key;
};
// Returns an entry with these values that lives as long as the program.
[[nodiscard]] const kept_intent& kept(const intent& what, std::uint64_t key);
}  // namespace detail

// A standard allocator for the calling place's segment. All instances are equal: each can deallocate what another one
// has allocated. Throws out_of_memory.
// cost: as situ::allocate.
template <class T>
struct allocator {
  // Member types for std::allocator_traits.
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}

  // Allocates room for n objects, uninitialised. cost: as situ::allocate.
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(detail::allocate_bytes(detail::bytes_for(n, sizeof(T)), alignof(T), false));
  }
  // Deallocates the block. cost: as situ::deallocate.
  void deallocate(T* block, std::size_t) noexcept { detail::deallocate_bytes(block); }

  template <class U>
  friend constexpr bool operator==(const allocator&, const allocator<U>&) noexcept {
    return true;
  }
};

// A standard allocator for the memories of an intent. All instances are equal, whatever their intents: a container
// that is moved or swapped keeps its elements, and takes its intent along. Holds a pointer. Throws as situ::allocate
// with an intent.
// cost: as that.
template <class T>
class intent_allocator {
 public:
  // Member types for std::allocator_traits.
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  // how: its alignment has no effect. cost: a search among the intents used so far, under a lock.
  intent_allocator(const intent& what, placing how = {})
      : kept_{&detail::kept(what, detail::arena_key(what, how.populate))} {}
  template <class U>
  intent_allocator(const intent_allocator<U>& other) noexcept : kept_{other.kept_} {}

  // Allocates room for n objects, uninitialised. cost: as situ::allocate with an intent.
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(
        detail::allocate_bytes_for(kept_->what, kept_->key, detail::bytes_for(n, sizeof(T)), alignof(T)));
  }
  // Deallocates the block. cost: as situ::deallocate.
  void deallocate(T* block, std::size_t) noexcept { detail::deallocate_bytes(block); }
  [[nodiscard]] const intent& what() const noexcept { return kept_->what; }

  template <class U>
  friend bool operator==(const intent_allocator&, const intent_allocator<U>&) noexcept {
    return true;
  }

 private:
  template <class U>
  friend class intent_allocator;
  const detail::kept_intent* kept_;  // lives as long as the program
};

// Returns a memory resource for std::pmr that allocates in the segment of the calling place. It lives as long as the
// program. Thread-safe. cost: as situ::allocate, and a virtual call.
[[nodiscard]] std::pmr::memory_resource* segment_resource() noexcept;
// Returns a memory resource that allocates in the memories of an intent, one for each intent and `how.populate`. The
// alignment in `how` has no effect: each allocation has its own. All resources compare equal, since each can
// deallocate what another one has allocated. cost: a search among the intents used so far, under a lock.
[[nodiscard]] std::pmr::memory_resource* segment_resource(const intent& what, placing how = {});

}  // namespace situ
