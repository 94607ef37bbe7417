// Segments for the standard library: containers whose elements lie where other places reach them.
//
//   std::vector<double, situ::allocator<double>> field(1000);      // in this place's segment
//   std::pmr::vector<double> other{1000, situ::segment_resource()};
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

// The same for std::pmr: a memory resource that allocates in the segment of whichever place calls it. It lives as long
// as the program. Thread-safe. cost: as situ::allocate, and a virtual call.
[[nodiscard]] std::pmr::memory_resource* segment_resource() noexcept;

}  // namespace situ
