// The room of memories that compute: how many bytes of each memory of a machine file this process has in use as pages.
//
// No such memory is here, so pages of another kind stand for its cells (situ/pages/memory_kind.h). What limits them is
// the machine file: each memory is a budget of its size, and the memories are filled one after the other.
#pragma once

#include <situ/pages/computing_memory.h>
#include <situ/pages/memory_kind.h>

#include "pages/placer.h"
#include "pages/room_ledger.h"

#include <cstdint>
#include <string>
#include <vector>

namespace situ::detail {

// A value; copies have the same room. Any thread may take, several at a time.
class computing_room {
 public:
  // pre: the kind's source is pim. Throws as read_computing_memories.
  explicit computing_room(const memory_kind& kind);

  // Returns "memory that computes (pim 1 > pim 2) of m.toml".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }
  // Takes bytes from the first memory as long as it has room, then from the next. Without room for all, no_room is the
  // outcome, and what was taken is in the report all the same: release_budgets gives it back.
  [[nodiscard]] placement_report take(std::uint64_t bytes) const;

 private:
  struct memory {
    std::string name;
    byte_budget* budget;  // of its bytes; all rooms of the process share it, and it is never destroyed
  };
  std::vector<memory> memories_;
  std::string description_;
};

}  // namespace situ::detail
