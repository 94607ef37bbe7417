// The host: what Situ asks of the system that a process runs on. Time, sleeping on a word, workers, processors, pages,
// memory.
//
// One seam for all of it, so that a modelled machine can stand behind it. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace situ::detail {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Time since some fixed point, the same in all processes of the host. Never goes back.
[[nodiscard]] std::uint64_t steady_ns() noexcept;

// Sleeps until *word != expected, a wake-up, a signal, or the time is over; a negative time is no limit. The word may
// lie in memory shared between processes.
void wait_on_word(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
// Ends the sleep of at most `count` of those that sleep on the word.
void wake_on_word(std::atomic<std::uint32_t>& word, int count) noexcept;

// Sleeps for so long, whatever happens.
void rest(std::int64_t ns) noexcept;

// Lets others run that are ready on this processor.
void give_way() noexcept;
// A processor's own clock, for lengths of time on it. cost: some 20 cycles.
[[nodiscard]] std::uint64_t processor_cycles() noexcept;

// How often who has nothing to do looks for work before it sleeps, where `on_a_host` looks are worth a sleep and a
// wake-up. A modelled machine wakes for nothing, and each look would be modelled.
[[nodiscard]] constexpr std::uint32_t idle_looks([[maybe_unused]] std::uint32_t on_a_host) noexcept {
#if defined(SITU_MODEL)
  return 0;
#else
  return on_a_host;
#endif
}

// Orders the loads and stores of all threads of this process: after it, each thread's stores before it are seen by the
// caller, and the caller's by each thread's loads after it. So only one of two sides needs a fence, the one that is
// rarer. can_order_all_threads() first, once: false where the kernel does not have it. cost: some microseconds.
[[nodiscard]] bool can_order_all_threads() noexcept;
void order_all_threads() noexcept;
// The same of all processes that have joined, each for itself; false where the kernel does not have it.
[[nodiscard]] bool join_order_of_processes() noexcept;
void order_processes() noexcept;

// Processors this process may run on.
[[nodiscard]] std::uint32_t allowed_processors() noexcept;
// The number of the processor that the calling thread runs on, for the moment. cost: a load.
[[nodiscard]] std::uint32_t running_processor() noexcept;

// Keeps the calling thread on one processor from here on; false where the system refuses (a control group's
// set, for one).
bool bind_to_processor(std::uint32_t processor) noexcept;

// The calling thread is this place's from here on. A modelled machine gives it a core of the place's tile; a host
// leaves it where it is.
void settle_as_place(std::uint32_t place) noexcept;
// A place's slice is [begin, end), its heap from `heap` on; said before the place uses it.
void describe_slice(std::uint32_t place, const std::byte* begin, const std::byte* heap, const std::byte* end) noexcept;

// A thread that Situ starts: a place within a process, an agent, one of a pool. It ends when `body` returns; who
// destroys it waits for that. Throws std::system_error where the system has no room for another.
class worker {
 public:
  worker() = default;
  explicit worker(std::function<void()> body) : thread_{std::move(body)} {}
  // Waits until it has ended; nothing if it has never begun, or was waited for.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::jthread thread_;
};

// The machine's memory, or the limit of this process's control groups where that is less.
[[nodiscard]] std::uint64_t usable_memory_bytes();

// How many processes the kernel has ended in this process's memory control group because it was out of memory; 0 where
// that is not told.
[[nodiscard]] std::uint64_t out_of_memory_kills();
// The count in such a file: memory.events, or memory.oom_control of the older interface.
[[nodiscard]] std::uint64_t read_oom_kills(const std::string& path);

}  // namespace situ::detail
