// The slots of a server's capabilities: a table with a list of its free slots. The number of a capability is the index
// of its slot (low half) and the count of the slot's uses (high half), so a number is never used twice.
//
// The table does not know what a capability means: memory_table.h has the invariants. Not thread-safe.
#pragma once

#include <situ/rmem/capability.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rmem/application_index.h"

namespace situ::rmem::detail {

struct table_region;  // memory_table.cpp

class capability_slots {
 public:
  static constexpr std::uint32_t none = ~0U;
  static constexpr std::uint32_t most = 1U << 24;  // the limit for slots taken over from another table

  struct slot {
    std::uint32_t uses = 0;  // odd: in use
    std::uint32_t next_free = none;
    std::uint32_t last_free = none;
    rights may = rights::none;
    application_index for_whom = any_application;
    application_index maker = 0;
    std::uint32_t parent = none;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    table_region* of = nullptr;
    std::uint32_t sharing = 0;  // the number of the region's sharing in which it was passed; 0: never
    capability_secret secret{};
    std::vector<std::uint32_t> children;
  };

  [[nodiscard]] slot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
  [[nodiscard]] const slot& operator[](std::uint32_t index) const noexcept { return slots_[index]; }
  [[nodiscard]] std::uint64_t number_of(std::uint32_t index) const noexcept {
    return std::uint64_t{slots_[index].uses} << 32 | index;
  }
  // Return the slot of a capability in use; null if there is none of this number, or it has another secret.
  [[nodiscard]] const slot* find(std::uint64_t number, const capability_secret& secret) const noexcept;
  [[nodiscard]] const slot* find(std::uint64_t number) const noexcept;
  // Returns true if the slot of this index is in use.
  [[nodiscard]] bool is_used(std::uint32_t index) const noexcept {
    return index < slots_.size() && slots_[index].of != nullptr;
  }

  // Takes a free slot for its next use; returns its index.
  [[nodiscard]] std::uint32_t take();
  // Takes the slot of this number, and adds missing slots below it as free ones. pre: is_number(number).
  [[nodiscard]] slot& take(std::uint64_t number);
  // Ends the use of a slot: nothing finds its number any more.
  void release(std::uint32_t index) noexcept;
  // Returns true for the number of a used slot that a table may have.
  [[nodiscard]] static bool is_number(std::uint64_t number) noexcept {
    return (number >> 32) % 2 == 1 && static_cast<std::uint32_t>(number) < most;
  }

  // Return and set the use counts of all slots. Slots in use keep theirs.
  [[nodiscard]] std::vector<std::uint32_t> uses() const;
  void set_uses(std::span<const std::uint32_t> uses);
  [[nodiscard]] std::size_t count_in_use() const noexcept { return in_use_; }
  void clear() noexcept;

 private:
  void add_free(std::uint32_t index) noexcept;
  void take_free(std::uint32_t index) noexcept;

  std::vector<slot> slots_;
  std::uint32_t first_free_ = none;  // head of a list within slots_
  std::size_t in_use_ = 0;
};

}  // namespace situ::rmem::detail
