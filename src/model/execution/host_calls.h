// The host's own functions, for the executor itself: a program's calls of functions of these names are modelled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::model {

// Makes a system call; returns a negative error number if the call fails.
long host_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept;
[[nodiscard]] std::uint64_t host_ns() noexcept;
// Writes to standard error, past every buffer.
void say(const char* text) noexcept;
// Prints why, and ends the process with code 2: for errors from which the executor cannot recover.
[[noreturn]] void give_up(const char* why) noexcept;

// Returns whole pages at addresses that are the same in each run. The addresses are never reused. The pages are private
// and zeroed, and the host allocates them on first touch.
void* fixed_pages(std::size_t bytes, bool with_guard) noexcept;
// Returns an address for a mapping of `bytes` bytes, from the same range.
[[nodiscard]] std::uintptr_t fixed_address(std::size_t bytes) noexcept;

}  // namespace situ::model
