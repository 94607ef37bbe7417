// The host: the services that Situ uses of the system that a process runs on. Time, sleeping on a word, workers,
// processors, pages, memory.
//
// All of them are in one interface, so that a modelled machine can implement it instead. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace situ::detail {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Returns the time since a fixed point that is the same in all processes of the host. Never goes back.
[[nodiscard]] std::uint64_t steady_ns() noexcept;

// Sleeps until *word != expected, a wake-up, a signal, or the timeout; a negative timeout is no limit. The word may be
// in memory shared between processes.
void wait_on_word(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
// Wakes at most `count` of the threads that sleep on the word.
void wake_on_word(std::atomic<std::uint32_t>& word, int count) noexcept;

// Sleeps for `ns` nanoseconds, also if signals arrive.
void rest(std::int64_t ns) noexcept;

// Lets other threads that are ready on this processor run.
void give_way() noexcept;
// Reads the processor's own clock, for intervals on one processor. cost: some 20 cycles.
[[nodiscard]] std::uint64_t processor_cycles() noexcept;

// Returns how often an idle thread looks for work before it sleeps; `on_a_host` is the number of looks that cost as
// much as a sleep and a wake-up. On a modelled machine it is 0: a wake-up costs nothing, and each look would be
// modelled.
[[nodiscard]] constexpr std::uint32_t idle_looks([[maybe_unused]] std::uint32_t on_a_host) noexcept {
#if defined(SITU_MODEL)
  return 0;
#else
  return on_a_host;
#endif
}

// Orders the loads and stores of all threads of this process: when it returns, the caller sees each thread's earlier
// stores, and each thread's later loads see the caller's earlier stores. So only the rarer of two sides needs a fence.
// Call can_order_all_threads() first, once: it returns false if the kernel lacks this. cost: some microseconds.
[[nodiscard]] bool can_order_all_threads() noexcept;
void order_all_threads() noexcept;
// As above, for all processes that have joined; each joins for itself. Returns false if the kernel lacks this.
[[nodiscard]] bool join_order_of_processes() noexcept;
void order_processes() noexcept;

// Returns the number of processors that this process may run on.
[[nodiscard]] std::uint32_t allowed_processors() noexcept;
// Returns the number of the processor that the calling thread runs on at the moment. cost: a load.
[[nodiscard]] std::uint32_t running_processor() noexcept;

// Binds the calling thread to one processor; returns false if the system refuses (because of a control group's set,
// for one).
bool bind_to_processor(std::uint32_t processor) noexcept;

// Declares the calling thread to be this place's from here on. A modelled machine gives it a core of the place's tile;
// a host does not move it.
void settle_as_place(std::uint32_t place) noexcept;
// Declares a place's slice, [begin, end), and its heap, from `heap` on. Called before the place uses the slice.
void describe_slice(std::uint32_t place, const std::byte* begin, const std::byte* heap, const std::byte* end) noexcept;

// Returns the machine's memory, or the limit of this process's control groups if that is less; in bytes.
[[nodiscard]] std::uint64_t usable_memory_bytes();

// Returns the number of processes that the kernel has killed in this process's memory control group because it was out
// of memory; 0 if the kernel does not count them, the largest number if the count cannot be read.
[[nodiscard]] std::uint64_t out_of_memory_kills();
// Returns the count in a file, memory.events, or memory.oom_control of the older interface: 0 if there is no such
// file, the largest number if it cannot be read.
[[nodiscard]] std::uint64_t read_oom_kills(const std::string& path);

}  // namespace situ::detail
