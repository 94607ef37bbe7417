// Names for functions that hold in every process of a job, whatever address the loader chose: module and offset.
//
// Module 0 is the executable; others are named by a hash of their build id, so places may load them in any order.
// Received names are checked against the module's executable bytes before they are called. Thread-safe.
#pragma once

#include <cstdint>

extern "C" {
// Put there by the linker: the first byte of the executable's image and the first past its code.
extern const char __executable_start;
extern const char etext;
}

namespace situ::detail {

// module in the upper 16 bits of the low 48: | 0:16 | module:16 | offset:32 |
using function_id = std::uint64_t;

// Where the executable's code starts within its image: before it lie headers and constants. Set before main.
extern const std::uint64_t executable_code_offset;

[[nodiscard]] function_id name_function_slow(const void* code);
[[nodiscard]] const void* find_function_slow(function_id id) noexcept;

[[nodiscard]] inline function_id name_function(const void* code) {
  const auto offset = reinterpret_cast<std::uintptr_t>(code) - reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto code_bytes = static_cast<std::uintptr_t>(&etext - &__executable_start);
  if (offset < code_bytes && offset <= UINT32_MAX) [[likely]]
    return offset;
  return name_function_slow(code);
}

// The code a name stands for in this process, or null where it names none.
[[nodiscard]] inline const void* find_function(function_id id) noexcept {
  if (id < static_cast<std::uintptr_t>(&etext - &__executable_start)) [[likely]]
    return id >= executable_code_offset ? &__executable_start + id : nullptr;
  return find_function_slow(id);
}

// A hash that two processes share exactly if they run the same executable.
[[nodiscard]] std::uint64_t executable_id();

}  // namespace situ::detail
