// Segments for the standard library: containers whose elements lie where other places reach them.
//
//   std::vector<double, situ::allocator<double>> field(1000);      // in this place's segment
//   std::pmr::vector<double> other{1000, situ::segment_resource()};
//   std::vector<double, situ::intent_allocator<double>> fast(1000, situ::intent::bandwidth);  // in the fastest memory
//   std::pmr::vector<double> large{1000, situ::segment_resource(situ::intent::capacity)};
//   situ::shared_span<double> for_others{field};                   // fabric/shared_span.h
//
// A container with them is made, grown and destroyed inside a runtime, by threads of places only; it must end before
// the runtime does. It may be destroyed at another place than the one that made it. Errors: as situ::allocate;
// deallocation where there is no runtime ends the program.
#pragma once

#include <situ/memory/allocate.h>

#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace situ {

namespace detail {
// An intent and how to place for it.
struct kept_intent {
  intent what;
  std::uint64_t key;  // arena_key
};
// The same values, kept as long as the program runs.
[[nodiscard]] const kept_intent& kept(const intent& what, std::uint64_t key);
}  // namespace detail

// A standard allocator from the calling place's segment. All of them are equal: each gives back what another has
// allocated. Throws out_of_memory. cost: as situ::allocate.
template <class T>
struct allocator {
  // As std::allocator_traits names them.
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}

  // Room for n objects, without values. cost: as situ::allocate.
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(detail::allocate_bytes(detail::bytes_for(n, sizeof(T)), alignof(T), false));
  }
  // Gives it back. cost: as situ::deallocate.
  void deallocate(T* block, std::size_t) noexcept { detail::deallocate_bytes(block); }

  template <class U>
  friend constexpr bool operator==(const allocator&, const allocator<U>&) noexcept {
    return true;
  }
};

// The same for memory that an intent takes. Equal, too, whatever their intents: what is moved or swapped keeps its
// elements, and its intent goes with them. Holds a pointer. Throws as situ::allocate does for an intent.
// cost: as that.
template <class T>
class intent_allocator {
 public:
  // As std::allocator_traits names them.
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  // how: an alignment in it has no effect. cost: a look at the intents that have been used so, under a lock.
  intent_allocator(const intent& what, placing how = {})
      : kept_{&detail::kept(what, detail::arena_key(what, how.populate))} {}
  template <class U>
  intent_allocator(const intent_allocator<U>& other) noexcept : kept_{other.kept_} {}

  // Room for n objects, without values. cost: as situ::allocate with an intent.
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(
        detail::allocate_bytes_for(kept_->what, kept_->key, detail::bytes_for(n, sizeof(T)), alignof(T)));
  }
  // Gives it back. cost: as situ::deallocate.
  void deallocate(T* block, std::size_t) noexcept { detail::deallocate_bytes(block); }
  // The intent.
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

// The same for std::pmr: a memory resource that allocates in the segment of whichever place calls it. It lives as long
// as the program. Thread-safe. cost: as situ::allocate, and a virtual call.
[[nodiscard]] std::pmr::memory_resource* segment_resource() noexcept;
// The same from the memories that an intent takes; one for each name and way. An alignment in `how` has no effect: each
// allocation has its own. They give back what each other has allocated, so all of them are equal. cost: a look at the
// intents that have been used so, under a lock.
[[nodiscard]] std::pmr::memory_resource* segment_resource(const intent& what, placing how = {});

}  // namespace situ
