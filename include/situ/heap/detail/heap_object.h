// The objects of an object heap in memory, and the entries of its table.
//
//   entry   | address of the header, a multiple of 16 | four bits |
//   object  | self | words | type | layout, age, tag | words of 4 bytes ... |        16 bytes of header
//
// An entry's bits say what a store must do first; a store that finds none of them is a plain store.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::detail {

inline constexpr std::uint64_t entry_is_moving = 1;       // the object is being copied: stores wait
inline constexpr std::uint64_t entry_is_read_mostly = 2;  // replicas exist: a store first makes it an ordinary object
// Other threads may have a reference to the object. A shared object refers to shared objects only, unless it is
// remembered.
inline constexpr std::uint64_t entry_is_shared = 4;
// A thread has the shared object in its list of those that may refer to objects of its own.
inline constexpr std::uint64_t entry_is_remembered = 8;
// The rest of an entry is the address, below bit 48, and, while the object moves, its mover (src/heap/shared_state.h).
inline constexpr std::uint64_t entry_address_bits = 0x0000'ffff'ffff'fff0;

struct heap_object {
  std::uint32_t self;   // the raw number of its reference
  std::uint32_t words;  // of 4 bytes, behind the header
  std::uint32_t type;   // a reference of the program's, traced (its class); 0: none
  std::uint8_t layout;
  std::uint8_t age;   // full collections since the last store that made it an ordinary object, up to 255
  std::uint16_t tag;  // the program's; of objects of a C++ type: the bytes at the end that are not used

  [[nodiscard]] std::uint32_t* body() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
  [[nodiscard]] const std::uint32_t* body() const noexcept { return reinterpret_cast<const std::uint32_t*>(this + 1); }
  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* bytes() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(heap_object) == 16);

inline constexpr std::size_t heap_alignment = 16;

// Returns the bytes that an object with so many words takes, with its header.
[[nodiscard]] constexpr std::size_t object_bytes(std::uint64_t words) noexcept {
  return (sizeof(heap_object) + 4 * words + heap_alignment - 1) & ~(heap_alignment - 1);
}
[[nodiscard]] inline heap_object* object_of_entry(std::uint64_t entry) noexcept {
  return reinterpret_cast<heap_object*>(entry & entry_address_bits);
}

}  // namespace situ::detail
