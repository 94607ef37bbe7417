// What measure.h times of one core: its clock, its instructions, and how far it goes on past a miss. All run on the
// calling thread, which has been pinned, and give the best of several samples: neighbours disturb them one by one.
#pragma once

#include <situ/machine/measure.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::machine::detail {

// In GHz: additions that wait for each other, one a cycle. cost: milliseconds.
[[nodiscard]] double core_gigahertz();
// Of a core with that clock, as `instruction_cycles` counts them: apart from what the accesses wait. cost: 50 ms.
[[nodiscard]] instruction_cycles core_cycles(double gigahertz);
// Instructions a cycle: of additions, multiplications of floating numbers and loads that hit, 3 to 1 to 2. cost:
// milliseconds.
[[nodiscard]] double core_width(double gigahertz);

// Nanoseconds of one dependent load each through `memory`, which is linked for it (link_chase), warm.
[[nodiscard]] double chase_ns(std::span<std::byte> memory, std::size_t line_bytes);

// The first TLB of data, in pages of 4 KiB whatever those of the system are, and what a load costs beyond it; no
// entries where none is found within the pages that the first cache has lines for. A virtual machine's huge pages may
// be small ones to the processor: this looks at what it does. Links the memory. cost: 100 ms.
[[nodiscard]] tlb translations_held(std::span<std::byte> memory, std::size_t line_bytes,
                                    std::uint64_t first_cache_bytes, double gigahertz);

// What a core has under way past the caches. `memory` is larger than all of them; a load of it takes `latency_ns`.
// Each writes to the memory. cost: 50 ms each.

// Loads that miss.
[[nodiscard]] std::uint32_t loads_under_way(std::span<std::byte> memory, std::size_t line_bytes);
// Instructions from a load that misses to the first that cannot begin before that load is done; 0 where more than 1000.
[[nodiscard]] std::uint32_t instructions_under_way(std::span<std::byte> memory, std::size_t line_bytes);
// Stores behind one whose line misses.
[[nodiscard]] std::uint32_t stores_under_way(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns);

// What is fetched ahead of loads that go through memory line by line, each waiting for the one before.
struct stream_figures {
  std::uint32_t streams = 0;       // side by side, that are fetched ahead of; 0: nothing is
  std::uint32_t lines = 0;         // ahead of one
  std::uint32_t lines_in_all = 0;  // under way, of up to eight streams whose loads wait for nothing
  std::uint64_t page_bytes = 0;    // at whose end a stream has to be found anew
};
[[nodiscard]] stream_figures streams_followed(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns);

}  // namespace situ::machine::detail
