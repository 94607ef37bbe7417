// The real bytes of a machine whose tiles' caches are not coherent: the shadow records each tile's view of each line.
//
// A program on a modelled machine has one copy of its bytes, which it reads and writes in place. The shadow keeps the
// other tiles' and the memory's versions of a line, and puts a tile's version in place before the tile accesses the
// line. So a read of a line that another tile has dirty returns the stale bytes, as it would on the machine.
//
// Invariants, for each line of a region
//   1. owner 0: the bytes in place are the memory's.
//   2. owner t + 1: the bytes in place are those that tile t has in its cache; the memory's are in the shadow.
//   3. A tile has a view of a line exactly while the line is in its cache: from its first see() until the line leaves.
//   4. A read is stale if its bytes were stale when the tile became the line's owner, and the tile has not written them
//      since. While the tile stays the owner, others write the line only to memory, from a copy that was checked then.
//
// Not thread-safe. cost: an access to a line whose owner is the tile is two loads and two comparisons; a change of the
// owner is a copy of two lines and a lookup in a hash table for each tile.
#pragma once

#include "model/parts/modelled_machine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace situ::model {

// A program error that only a machine without coherence exposes.
struct coherence_report {
  enum class what : std::uint8_t {
    stale_read,  // `tile` read bytes that `other_tile` has written since
    lost_write,  // `tile` overwrote bytes that `other_tile` had written, with its copy of the line or by dropping it
  };
  what kind = what::stale_read;
  std::uint64_t address = 0;  // the first byte affected
  std::uint32_t bytes = 0;    // number of affected bytes from `address` on
  std::uint32_t tile = 0;
  std::uint32_t other_tile = 0;  // the tile itself, if it dropped its own; none if a device or an atomic wrote
  std::uintptr_t at = 0;         // address of the code that read, or that gave the order
  std::uintptr_t other_at = 0;   // address of the code that wrote last
};

// The views of all tiles. The bytes of its regions must stay mapped while the shadow exists.
class coherence_shadow final : public line_observer {
 public:
  // Calls `report` for each error; an empty `report` leaves errors only counted.
  coherence_shadow(std::uint32_t tiles, std::uint32_t line_bytes,
                   std::function<void(const coherence_report&)> report = {});
  ~coherence_shadow() override;

  // Adds a region of real bytes that tiles share. Throws bad_argument unless both ends are multiples of the line.
  // Reserves address space for about twice the bytes; memory is used only for touched bytes. If the range held a region
  // before, that region's bytes are taken to be gone, and the new bytes are in no tile's view.
  void add_region(void* begin, std::size_t bytes);

  // Puts the tile's bytes in place; called before a tile reads or writes through its cache. `at` is the code's address.
  // Ignores bytes outside all regions.
  void see(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write, std::uintptr_t at = 0);
  // Puts the memory's bytes in place; called before an access past the caches (atomics, DMA, accelerators, a tile
  // without a cache).
  void see_memory(std::uint64_t address, std::uint64_t bytes, bool write, std::uintptr_t at = 0);

  // Sets the code whose order makes lines leave from now on, for reports.
  void set_cause(std::uintptr_t at) noexcept;
  void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
               bool was_dirty) override;

  [[nodiscard]] std::uint64_t stale_reads() const noexcept;
  [[nodiscard]] std::uint64_t lost_writes() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::model
