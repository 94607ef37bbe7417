// Names for functions that hold in every process of a job, whatever address the loader chose: module and offset.
//
// Module 0 is the executable; others have a hash of their build id as their number, so places may load them in any
// order. Which module has a number is agreed on in the job (src/fabric/modules.h): code of a second one with the same
// number is refused, and a name finds code of exactly that module or none. Received names are checked against the
// module's executable bytes before they are called. Thread-safe.
#pragma once

#include <cstdint>

namespace situ::detail {

// module in the upper 16 bits of the low 48: | 0:16 | module:16 | offset:32 |
using function_id = std::uint64_t;

// Where the executable's code lies. Asked of the loader: the linker's symbols for it (__executable_start, etext) mean
// another thing in each module, or nothing.
struct alignas(32) executable_code {
  std::uintptr_t base;  // of the executable's image: offsets count from here
  std::uint64_t begin;  // offsets of its executable bytes
  std::uint64_t bytes;  // 0 while static initialisers before ours run: then the slow ways find it
};
extern const executable_code own_code;

[[nodiscard]] function_id name_function_slow(const void* code);
[[nodiscard]] const void* find_function_slow(function_id id);

[[nodiscard]] inline function_id name_function(const void* code) {
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(code) - own_code.base;
  if (offset - own_code.begin < own_code.bytes) [[likely]]
    return offset;
  return name_function_slow(code);
}

// The code a name stands for in this process, or null where it names none.
[[nodiscard]] inline const void* find_function(function_id id) {
  if (id - own_code.begin < own_code.bytes) [[likely]]
    return reinterpret_cast<const void*>(own_code.base + id);
  return find_function_slow(id);
}

// A hash that two processes share exactly if they run the same executable.
[[nodiscard]] std::uint64_t executable_id();

}  // namespace situ::detail
