// The loops that measure.h times, with the pinned threads, and memory on a chosen node, that they need.
#pragma once

#include "os/pages.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace situ::machine::detail {

inline constexpr std::uint32_t any_node = ~std::uint32_t{0};
// Allocates memory on a NUMA node (its OS index, or any_node), in huge pages if the system provides them, touched by
// the calling thread. Returns an empty object on failure.
[[nodiscard]] situ::detail::pages touched_pages(std::size_t bytes, std::uint32_t node) noexcept;

// Links the lines of the memory into one cycle in random order, so that no prefetcher can follow; returns its start.
void** link_chase(std::span<std::byte> memory, std::size_t line_bytes);
// Follows `steps` links and returns the last address. cost: steps dependent loads.
[[nodiscard]] void** follow_chase(void** start, std::size_t steps) noexcept;

enum class stream_kernel { read, copy, triad };
// Makes one pass over arrays of `count` doubles; returns a value that depends on the data read.
double run_stream(stream_kernel kernel, double* a, double* b, double* c, std::size_t count) noexcept;
[[nodiscard]] std::size_t stream_bytes(stream_kernel kernel, std::size_t count) noexcept;

// Returns the nanoseconds of a round trip, in samples of `rounds` round trips, until `seconds` are over; empty if a
// thread cannot run on a processor. Starts two threads and joins them.
[[nodiscard]] std::vector<double> ping_pong(std::uint32_t a, std::uint32_t b, double seconds, std::uint32_t rounds);

// Runs the kernel on every processor at once, each on its own arrays on `node`. Returns the bytes per second of all
// together, one sample for each pass, until `seconds` are over; empty if a processor or the memory is not available.
[[nodiscard]] std::vector<double> stream_bandwidth(stream_kernel kernel, std::span<const std::uint32_t> processors,
                                                   std::uint32_t node, std::size_t bytes_per_thread, double seconds);

// Returns the bytes per second of one pass over the memory's lines in order, by loads that wait for nothing, one a line;
// small memory is passed several times. A line counts whole.
[[nodiscard]] double bytes_per_second_of_lines(std::span<std::byte> memory, std::size_t line_bytes) noexcept;

[[nodiscard]] double now_ns() noexcept;

}  // namespace situ::machine::detail
