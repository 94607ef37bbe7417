// The measurements of one core for measure.h: its clock, its instructions, and how far it goes on past a miss. All run
// on the calling thread, which the caller has pinned, and return the best of several samples: neighbours disturb single
// samples.
#pragma once

#include <situ/machine/measure.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::machine::detail {

// Measures the clock in GHz, by additions that depend on each other, one a cycle. cost: milliseconds.
[[nodiscard]] double core_gigahertz();
// Measures the cycles of instructions on a core with that clock, without the time that accesses wait. cost: 50 ms.
[[nodiscard]] instruction_cycles core_cycles(double gigahertz);
// Measures the instructions a cycle for a mix of additions, floating-point multiplications and loads that hit, 3 to 1
// to 2. cost: milliseconds.
[[nodiscard]] double core_width(double gigahertz);

// Returns the nanoseconds of a dependent load in a warm pass through `memory`, which link_chase has linked.
[[nodiscard]] double chase_ns(std::span<std::byte> memory, std::size_t line_bytes);

// Measures the first data TLB, in pages of 4 KiB whatever the system's page size, and the cost of a load that misses
// it; no entries if it finds none within the pages that the first cache has lines for. The processor may see small
// pages where a virtual machine has huge ones; this measures the processor. Links the memory. cost: 100 ms.
[[nodiscard]] tlb translations_held(std::span<std::byte> memory, std::size_t line_bytes,
                                    std::uint64_t first_cache_bytes, double gigahertz);

// The next functions measure the operations that a core has under way past the caches. `memory` is larger than all of
// them; a load from it takes `latency_ns`. Each function writes to the memory. cost: 50 ms each.

// Returns the number of loads that miss at the same time.
[[nodiscard]] std::uint32_t loads_under_way(std::span<std::byte> memory, std::size_t line_bytes);
// Returns the number of instructions from a load that misses to the first one that must wait for it; 0 if more than
// 1000.
[[nodiscard]] std::uint32_t instructions_under_way(std::span<std::byte> memory, std::size_t line_bytes);
// Returns the number of stores that wait behind a store whose line misses.
[[nodiscard]] std::uint32_t stores_under_way(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns);

// The prefetches for loads that go through memory line by line, each waiting for the one before.
struct stream_figures {
  std::uint32_t streams = 0;       // streams at the same time that are prefetched; 0: none
  std::uint32_t lines = 0;         // prefetched lines ahead of one stream
  std::uint32_t lines_in_all = 0;  // under way, for up to eight streams whose loads do not wait
  std::uint64_t page_bytes = 0;    // after the end of such a page a stream must be detected again
};
[[nodiscard]] stream_figures streams_followed(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns);

}  // namespace situ::machine::detail
