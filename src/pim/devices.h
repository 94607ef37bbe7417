// The devices of a kind of memory `pim:FILE`, in the order in which vectors fill them, and the words for where rows
// are, and for what each device holds if there is no room.
//
// Each memory that opens such a kind has devices of its own, as each process would: their allocators count their rows.
// Ordinary pages of the kind, and their budgets (src/pages/computing_room.h), are apart from them.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pages/computing_memory.h>
#include <situ/pages/memory_kind.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::pim::detail {

// A device: name, figures, bus, and the kind of the pages that stand for its cells.
using device_entry = computing_memory;

// Returns the devices. Throws as read_computing_memories (situ/pages/computing_memory.h).
[[nodiscard]] inline std::vector<device_entry> read_devices(const memory_kind& kind) {
  return read_computing_memories(kind);
}

// The use of a device, in rows of subarrays.
struct device_rows {
  std::string_view name;
  machine::pim_figures figures;
  std::uint64_t used = 0;    // of all allocations
  std::uint64_t placed = 0;  // of these, the rows of the allocation that is told about
};

// Returns where an allocation's rows are: "96 rows in pim 0, 32 in pim 1"; "no rows" if it has none.
[[nodiscard]] std::string format_rows(std::span<const device_rows> devices);

// Throws out_of_memory for `what` ("vector 'a'") of so many bytes, with the reason, if any, and a table of what each
// device holds.
[[noreturn]] void throw_no_room(std::string_view what, std::uint64_t bytes, std::span<const device_rows> devices,
                                std::string_view reason = "");

}  // namespace situ::pim::detail
