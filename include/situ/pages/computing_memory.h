// The memories that compute of a machine file, which the kind of memory `pim:FILE` names (memory_kind.h): what whoever
// allocates in them has to know, and the table of what each of them holds.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/pim.h>
#include <situ/pages/memory_kind.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ {

// A memory that computes.
struct computing_memory {
  std::string name;              // its label in the file's tree: "pim 1"
  machine::pim_figures figures;  // with all numbers of its cells
  std::uint64_t bandwidth = 0;   // of the bus between it and the host, bytes per second; 0: unknown
  double latency_ns = 0;         // of that bus; 0: unknown
  memory_kind pages;             // the kind of the pages that stand for its cells
};

// Returns the memories in the ordering for intent::pim, as seen from the whole machine of the file: that is the order in
// which they are filled. Throws bad_argument if the kind is not pim:FILE, bad_file if the file cannot be read, has no
// memory that computes, or lacks the figures of one. cost: reads the file.
[[nodiscard]] std::vector<computing_memory> read_computing_memories(const memory_kind& kind);

// The use of a memory that computes.
struct computing_memory_use {
  std::string_view name;
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;    // by all allocations
  std::uint64_t placed_bytes = 0;  // by the allocation that is told about
};
// Returns a line that tells how many of an allocation's bytes found room, and a table of what each memory holds, for the
// message of an error. cost: linear in the memories.
[[nodiscard]] std::string format_uses(std::uint64_t asked_bytes, std::span<const computing_memory_use> memories);

}  // namespace situ
