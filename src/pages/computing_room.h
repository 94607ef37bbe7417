// The room of memories that compute: how many bytes of each memory of a machine file this process has in use.
//
// No such memory is here, so pages of another kind stand for its cells (situ/pages/memory_kind.h). What limits them is
// the machine file: each memory is a budget of its size, and the memories are filled one after the other in the ordering
// for intent::pim, as seen from the whole machine of the file.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pages/memory_kind.h>

#include "pages/placer.h"
#include "pages/room_ledger.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

// A memory that computes.
struct computing_memory {
  std::string name;               // its label in the file's tree: "pim 1"
  machine::pim_figures figures;   // with all numbers of its cells
  std::uint64_t bandwidth = 0;    // of the bus to it, bytes per second; 0: unknown
  double latency_ns = 0;          // of the bus to it; 0: unknown
  byte_budget* budget = nullptr;  // of its bytes; all rooms of the process share it, and it is never destroyed
};

// Returns the memories that compute of a machine file, in the ordering for intent::pim. Throws bad_file if it cannot be
// read, has no such memory, or lacks the figures of one.
[[nodiscard]] std::vector<computing_memory> read_computing_memories(const std::string& path);

// Returns a memory's row in the table of what memories hold, for format_fills.
[[nodiscard]] memory_fill fill_of_cells(std::string_view name, std::uint64_t total_bytes, std::uint64_t used_bytes,
                                        std::uint64_t placed_bytes = 0);

// A value; copies have the same room. Any thread may take, several at a time.
class computing_room {
 public:
  // pre: the kind's source is pim. Throws as read_computing_memories.
  explicit computing_room(const memory_kind& kind);

  [[nodiscard]] const std::vector<computing_memory>& memories() const noexcept { return memories_; }
  // Returns "memory that computes (pim 1 > pim 2) of m.toml".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }
  // Takes bytes from the first memory as long as it has room, then from the next. Without room for all, no_room is the
  // outcome, and what was taken is in the report all the same: release_budgets gives it back.
  [[nodiscard]] placement_report take(std::uint64_t bytes) const;

 private:
  std::vector<computing_memory> memories_;
  std::string description_;
};

}  // namespace situ::detail
