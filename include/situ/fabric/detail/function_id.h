// Names for functions that hold in every process of a job, whatever address the loader chose: module and offset.
//
// Module 0 is the executable. The number of any other module is a hash of its build id, so places may load modules in
// any order. The places of a job agree on the module that has a number (src/fabric/modules.h): code of a second module
// with the same number is refused, and a name finds code of exactly that module or none. Received names are checked
// against the module's executable bytes before they are called. Thread-safe.
#pragma once

#include <cstdint>

namespace situ::detail {

// The module is in bits 32 to 47: | 0:16 | module:16 | offset:32 |
using function_id = std::uint64_t;

// The address range of the executable's code. The loader gives it: the linker's symbols for it (__executable_start,
// etext) mean another thing in each module, or nothing.
struct alignas(32) executable_code {
  std::uintptr_t base;  // of the executable's image: offsets count from here
  std::uint64_t begin;  // offsets of its executable bytes
  std::uint64_t bytes;  // 0 while static initialisers before ours run: then the slow ways find the code
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

// Returns the code that a name stands for in this process, or null if the name is unknown.
[[nodiscard]] inline const void* find_function(function_id id) {
  if (id - own_code.begin < own_code.bytes) [[likely]]
    return reinterpret_cast<const void*>(own_code.base + id);
  return find_function_slow(id);
}

// Returns a hash that two processes share exactly if they run the same executable.
[[nodiscard]] std::uint64_t executable_id();

}  // namespace situ::detail
