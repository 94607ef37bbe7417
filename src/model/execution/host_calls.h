// The host's own functions, for the executor itself: what a program calls by these names is modelled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::model {

// The system call itself; a negative error number where it fails.
long host_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept;
[[nodiscard]] std::uint64_t host_ns() noexcept;
// Writes to standard error, past every buffer.
void say(const char* text) noexcept;
// Says why, and ends the process with code 2: for what the executor itself cannot go on with.
[[noreturn]] void give_up(const char* why) noexcept;

// Whole pages at addresses that are the same in each run, never given out again. They are private, zeroed, and exist
// once they are touched.
void* fixed_pages(std::size_t bytes, bool with_guard) noexcept;
// An address for a mapping of so many bytes, from the same range.
[[nodiscard]] std::uintptr_t fixed_address(std::size_t bytes) noexcept;

}  // namespace situ::model
