// One call of a placer: which memory the next chunk of its range comes from. The three executors derive from it:
//
//   making     makes pages that do not exist                                   place_pages.cpp
//   promising  notes from which memory each page comes when it is touched      promise_pages.cpp
//   moving     chooses all memories for pages that exist, then moves the pages   move_pages.cpp
//
// Invariants: those of placer.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "os/host.h"
#include "pages/placer.h"

namespace situ::detail {

inline constexpr std::size_t coarse_chunk = huge_page_bytes;
inline constexpr std::size_t most_pages = coarse_chunk / page_bytes;  // per chunk
// The number of processes that may place in a memory at the same pace (invariant 3): those of eight places. If it were
// smaller, readings would be rarer, but overshoot likelier: near a threshold a reading costs as much as 64 KiB of pages.
inline constexpr std::uint64_t paced_placers = 8;
inline constexpr std::uint64_t coarse_room = paced_placers * coarse_chunk;  // from this room on

class placer::search {
 public:
  search(const search&) = delete;
  search& operator=(const search&) = delete;

 protected:
  struct reading {
    bool is_there = false;
    std::uint64_t total_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t placed_since = 0;    // bytes placed by this call
    std::uint64_t promised_bytes = 0;  // promised on the node before the reading
    std::uint64_t promised_since = 0;  // bytes promised by this call
    std::uint64_t own_bytes = 0;       // the part of promised_bytes that belongs to the moving range
  };
  struct choice {
    std::size_t memory;
    std::size_t step;
    std::size_t bytes;
    std::size_t reserved = 0;  // bytes that this call has reserved in the budget, or in the node's sum
  };
  enum class binding : std::uint8_t { done, not_allowed, refused };

  search(const placer& by, std::byte* address, std::size_t bytes, when_full policy);
  ~search() = default;

  // Chooses a memory for the next chunk, and reserves its bytes. On nullopt nothing is left, or the report has the
  // reason.
  [[nodiscard]] std::optional<choice> choose_next();
  // As choose_next(), but reserves nothing and does not consider the last memory beyond its threshold.
  [[nodiscard]] std::optional<choice> find_room();
  void withdraw(const choice& to) noexcept;
  [[nodiscard]] bool skip(const choice& to, binding bound) noexcept;
  [[nodiscard]] reading& reading_of(const choice& to) noexcept { return readings_[by_.memories_[to.memory].node]; }
  // Returns the bytes of a memory's node that are free by its last reading, less those placed since.
  [[nodiscard]] std::uint64_t free_of(std::size_t index) const noexcept;
  [[nodiscard]] std::uint64_t promised_now(std::size_t node_index) const noexcept;
  void reopen() noexcept;

  // Sets the policy of the next chunk's pages.
  [[nodiscard]] binding prefer(const choice& to);
  void count(const choice& to) noexcept;
  // Counts the pages that exist on another node than they should, and moves their addresses to the front.
  [[nodiscard]] std::size_t find_elsewhere(void** addresses, std::size_t pages, std::uint32_t node);
  [[nodiscard]] std::size_t take_home(const choice& to, void** astray, std::size_t pages);
  void refuse(int reason) noexcept;
  void fill_in_totals();

  [[nodiscard]] const spill_memory& what(std::size_t index) const noexcept { return by_.memories_[index].what; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_ - at_; }

  const placer& by_;
  std::byte* const address_;
  const std::size_t bytes_;
  std::size_t at_ = 0;
  bool is_planning_ = false;  // memories are being chosen and nothing has moved: readings do not show choices
  bool is_beyond_ = false;    // the last memory takes pages that no memory has room for
  bool can_prefer_ = true;
  std::vector<reading> readings_;  // of nodes_
  placement_report report_;

 private:
  // The state of a memory in the search. A `full` one is read again before the call reports no room; a `dry` one,
  // which gave no page although it showed room, is not.
  enum class gate : std::uint8_t { open, full, dry };

  // What the pages of the range have already; pages that are yet to be made have nothing.
  // Returns the bytes that they hold in a budget; null: none.
  [[nodiscard]] virtual std::uint64_t* held_of(const byte_budget*) noexcept { return nullptr; }
  // Returns how many of the next bytes are on a node.
  [[nodiscard]] virtual std::uint64_t bytes_here_on(std::uint32_t, std::size_t) const { return 0; }
  [[nodiscard]] virtual std::uint64_t own_promises(std::uint32_t) const { return 0; }
  // Promises reserve their bytes in the node's sum; other pages show in the node's next reading. Returns false if
  // others were quicker.
  [[nodiscard]] virtual bool reserve_of_node(const choice&) noexcept { return true; }
  virtual void withdraw_of_node(const choice&) noexcept {}

  [[nodiscard]] std::optional<choice> choose();
  [[nodiscard]] std::optional<choice> choose_beyond();
  [[nodiscard]] std::optional<choice> last_allowed() const noexcept;
  [[nodiscard]] bool take(choice& to);
  [[nodiscard]] std::uint64_t held_by(const byte_budget* budget) noexcept;
  [[nodiscard]] std::uint64_t room(std::size_t index, std::size_t least);
  [[nodiscard]] std::uint64_t room_of_node(std::size_t index);
  [[nodiscard]] bool is_old(const reading& last, std::uint64_t shown) const noexcept;
  [[nodiscard]] std::uint64_t shown_room(std::size_t index) const noexcept;
  void read(std::size_t node_index);
  [[nodiscard]] bool has_room_for(std::size_t index, std::uint64_t bytes);
  // Returns the bytes up to the next multiple of a chunk's size.
  [[nodiscard]] std::size_t chunk_from_here(std::size_t size) const noexcept {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(address_ + at_) % size;
    return std::min(size - beyond, left());
  }

  const when_full policy_;
  bool has_settled_ = false;
  int read_error_ = 0;               // errno of the last node that could not be read
  std::vector<std::uint64_t> room_;  // of memories_: last computed room
  std::vector<gate> gates_;          // of memories_
};

}  // namespace situ::detail
