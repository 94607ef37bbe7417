// The loops that measure.h times, and what they need: pinned threads and memory on a chosen node.
#pragma once

#include "base/pages.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace situ::machine::detail {

inline constexpr std::uint32_t any_node = ~std::uint32_t{0};
// Huge pages, if the system gives them, on a NUMA node (its OS index, or any_node), and touched by the calling thread.
// Holds nothing where they cannot be had.
[[nodiscard]] situ::detail::pages touched_pages(std::size_t bytes, std::uint32_t node) noexcept;

// Links the lines of the memory into one cycle in random order, so that no prefetcher can follow; returns its start.
void** link_chase(std::span<std::byte> memory, std::size_t line_bytes);
// Follows `steps` links and returns where it ended. cost: steps dependent loads.
[[nodiscard]] void** follow_chase(void** start, std::size_t steps) noexcept;

enum class stream_kernel { read, copy, triad };
// One pass over arrays of `count` doubles; returns a value that depends on what was read.
double run_stream(stream_kernel kernel, double* a, double* b, double* c, std::size_t count) noexcept;
[[nodiscard]] std::size_t stream_bytes(stream_kernel kernel, std::size_t count) noexcept;

// Nanoseconds for each round trip, in samples of `rounds` round trips, until `seconds` are over; empty where a
// processor cannot be had. Starts two threads and joins them.
[[nodiscard]] std::vector<double> ping_pong(std::uint32_t a, std::uint32_t b, double seconds, std::uint32_t rounds);

// Runs the kernel on every processor at once, each on its own arrays on `node`; bytes per second of all together, one
// sample for each pass, until `seconds` are over. Empty where a processor or the memory cannot be had.
[[nodiscard]] std::vector<double> stream_bandwidth(stream_kernel kernel, std::span<const std::uint32_t> processors,
                                                   std::uint32_t node, std::size_t bytes_per_thread, double seconds);

[[nodiscard]] double now_ns() noexcept;

}  // namespace situ::machine::detail
