// The real bytes of a machine whose tiles' caches are not coherent: what each tile sees of each line.
//
// A program on a modelled machine has one copy of its bytes, where it reads and writes them. The shadow keeps what the
// other tiles and the memory have of a line, and puts a tile's bytes in place before it accesses them. So a read of a
// line that another tile has dirty returns the stale bytes, as it would there.
//
// Invariants, for each line of a region
//   1. owner 0: the bytes in place are the memory's.
//   2. owner t + 1: the bytes in place are those that tile t has in its cache; the memory's are in the shadow.
//   3. A tile has a view of a line exactly while the line is in its cache: from its first see() to the line's leaving.
//   4. A read is stale where its bytes were when the tile became the line's owner, and it has not written them since.
//      While it stays the owner nobody else writes the line but to memory, from a copy that was looked at then.
//
// Not thread-safe. cost: an access to a line whose owner is the tile is two loads and two comparisons, a change of the
// owner a copy of two lines and a look into a hash table for each tile.
#pragma once

#include "model/parts/modelled_machine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace situ::model {

// A program's mistake that only a machine without coherence shows.
struct coherence_report {
  enum class what : std::uint8_t {
    stale_read,  // `tile` read bytes that `other_tile` has written since
    lost_write,  // `tile` overwrote, with its copy of the whole line or by dropping it, what `other_tile` had written
  };
  what kind = what::stale_read;
  std::uint64_t address = 0;  // the first byte concerned
  std::uint32_t bytes = 0;    // how many from there on
  std::uint32_t tile = 0;
  std::uint32_t other_tile = 0;  // the tile itself, where it dropped its own; none where a device or an atomic wrote
  std::uintptr_t at = 0;         // the code that read, or that gave the order
  std::uintptr_t other_at = 0;   // the code that wrote last
};

// The views of all tiles. Its regions' bytes must stay mapped as long as it lives.
class coherence_shadow final : public line_observer {
 public:
  // `report` is called for each mistake; it may be empty: then they are only counted.
  coherence_shadow(std::uint32_t tiles, std::uint32_t line_bytes,
                   std::function<void(const coherence_report&)> report = {});
  ~coherence_shadow() override;

  // Real bytes that tiles share. Throws bad_argument unless both ends are multiples of the line. Address space for
  // about twice the bytes is reserved; memory is used for what is touched. Where a region was before, its bytes are
  // taken to be gone, and these to be new: no tile has a view of them.
  void add_region(void* begin, std::size_t bytes);

  // Before a tile reads or writes through its cache: puts its bytes in place. `at` is the code's address. Bytes of no
  // region are left alone.
  void see(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write, std::uintptr_t at = 0);
  // Before anybody reads or writes past the caches (atomics, DMA, accelerators, a tile without a cache): puts the
  // memory's bytes in place.
  void see_memory(std::uint64_t address, std::uint64_t bytes, bool write, std::uintptr_t at = 0);

  // Whose order the lines that leave from now on are; for reports.
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
