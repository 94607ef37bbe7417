// A machine made of the parts: what an access costs at the time when it happens, and what each part has counted.
//
// Times are exact as long as requests come in the order of their time; where the executor runs a core ahead of others,
// a request takes the first gap that fits (busy_calendar.h). A core waits for its reads and atomics; its writes go
// through a buffer of one entry where the first cache writes through. docs/design/model.md has the whole way of an
// access, worked out.
//
// An executor may look into a core's first cache itself: first_data_cache(core).hit(line) is the whole of a read hit,
// which costs hit_time and may be counted with count_hits(). All else is access().
//
// Not thread-safe: a modelled machine runs in one thread. cost: a hit in a first cache a few nanoseconds, a way through
// bus, mesh and memory about a hundred.
#pragma once

#include "model/parts/camat.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/set_associative_cache.h"
#include "model/parts/time.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace situ::model {

// What happened to a line of a tile's outermost cache.
enum class line_event : std::uint8_t {
  written_back,  // its dirty bytes, if any, went to memory, by order of a core; the line stays
  evicted,       // it left, and its dirty bytes, if any, went to memory
  invalidated,   // it left, and its dirty bytes, if any, are lost
};

// Who wants to know of lines that leave or reach memory: a coherence_shadow, above all. `line` is an address divided by
// the cache's line_bytes(). Called before the time that it takes is known.
class line_observer {
 public:
  virtual ~line_observer() = default;
  virtual void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
                       bool was_dirty) = 0;
};

// For map_range(): the tile-local memory of whatever tile asks, so that each tile has bytes of its own there.
inline constexpr std::uint32_t local_memory = none - 1;

class modelled_machine {
 public:
  explicit modelled_machine(machine_spec spec);
  ~modelled_machine();
  modelled_machine(modelled_machine&&) noexcept;
  modelled_machine& operator=(modelled_machine&&) noexcept;

  [[nodiscard]] const machine_spec& spec() const noexcept;
  [[nodiscard]] std::uint32_t core_count() const noexcept;
  [[nodiscard]] std::uint32_t tile_of(std::uint32_t core) const noexcept;
  [[nodiscard]] time_ps period(std::uint32_t core) const noexcept;

  // Says where the bytes [begin, end) lie: an index into spec().memories, or local_memory. Later ranges cover earlier
  // ones. Throws bad_argument for no such memory, or for an empty range.
  void map_range(std::uint64_t begin, std::uint64_t end, std::uint32_t memory, bool cacheable = true);

  // One access of a core that begins at `now`. Returns when the core may go on. Accesses across lines are several, one
  // after the other. Throws bad_argument for an address that no range holds. pre: bytes > 0.
  time_ps access(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);

  // Whether the core goes on past a miss (`window` in the machine's file): then access_ahead() takes the place of
  // access(), and returns when the core may go on, which for most misses is at once. instruction_window.h and
  // load_dependence.h say what it waits for. Throws as access() does.
  [[nodiscard]] bool goes_ahead(std::uint32_t core) const noexcept;
  time_ps access_ahead(std::uint32_t core, const window_access& of, time_ps now);
  // The core comes to a branch, `instruction` of them before it. Where it has foreseen another way it goes on when the
  // loads since the branch before are there, and `restart` later; what follows within its window has asked for lines
  // meanwhile. Returns when it goes on. pre: goes_ahead().
  time_ps branch(std::uint32_t core, bool foreseen, std::uint64_t instruction, time_ps restart, time_ps now);
  // When everything is done that the core has under way.
  time_ps wait_for_all(std::uint32_t core, time_ps now);

  // The cache that a core's reads and writes meet first; pre: the core has one (has_data_cache).
  [[nodiscard]] bool has_data_cache(std::uint32_t core) const noexcept;
  [[nodiscard]] set_associative_cache& first_data_cache(std::uint32_t core) noexcept;
  [[nodiscard]] time_ps first_hit_time(std::uint32_t core) const noexcept;
  // Read and write hits that the executor found by itself.
  void count_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) noexcept;

  // The same of the cache that only its instructions meet first; pre: the core has one (has_instruction_cache). A core
  // that has none fetches nothing, as far as an executor is concerned.
  [[nodiscard]] bool has_instruction_cache(std::uint32_t core) const noexcept;
  [[nodiscard]] set_associative_cache& first_instruction_cache(std::uint32_t core) noexcept;
  [[nodiscard]] time_ps first_fetch_time(std::uint32_t core) const noexcept;
  void count_fetch_hits(std::uint32_t core, std::uint64_t lines) noexcept;
  // When the core's ITLB has translated the address of a fetch, for an executor that looks into the instruction cache
  // itself; access() does it by itself.
  time_ps translate_fetch(std::uint32_t core, std::uint64_t address, time_ps now) noexcept;

  // Operations of a core on all caches of its tile for the bytes [begin, end): dirty lines go to memory and stay; are
  // dropped, with what is dirty; both. The core issues a command a line, or one for each line that is there where the
  // range is larger than the cache. Returns when the last is done.
  time_ps write_back(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);
  time_ps invalidate(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);
  time_ps flush(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);

  // The bytes [begin, end) are new ones: what caches hold of those that were there before is gone, written or not.
  // Takes no time, and no observer hears of it. Coherent caches keep what they have: it is memory's in any case.
  void forget(std::uint64_t begin, std::uint64_t end);

  // Work for another tile: `bytes` of arguments into its tile-local memory. Returns when they have arrived; the core is
  // free at once, after the adapter took them (adapter_time).
  time_ps send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now);
  // Copies bytes between two memories past the caches: by the adapter of the core's tile. Returns when the last byte is
  // there; the core need not wait. Throws bad_argument for an address that no range holds.
  time_ps dma(std::uint32_t core, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, time_ps now);
  // The same packet by packet, for who lets others in between: step_dma() until it is over. Its bytes move by a step at
  // `next`.
  struct dma_transfer {
    std::uint32_t tile = none;  // whose adapter counts it; none: a unit beside the source asked for it
    std::uint32_t source = none;
    std::uint32_t target = none;
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;
    time_ps asked = 0;
    time_ps next = 0;  // when the next packet is read
    time_ps done = 0;  // when the last one so far is there
    [[nodiscard]] bool is_over() const noexcept { return at == bytes; }
  };
  [[nodiscard]] dma_transfer begin_dma(std::uint32_t core, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                                       time_ps now);
  [[nodiscard]] dma_transfer begin_dma_of_memory(std::uint32_t source, std::uint32_t target, std::uint64_t to,
                                                 std::uint64_t from, std::uint64_t bytes, time_ps now);
  void step_dma(dma_transfer& transfer);
  // Reads and writes a word at the memory that holds it, past the caches. Returns when the old value is back.
  time_ps remote_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now);

  // An access of a unit that stands beside a memory: neither network nor caches. Returns when it is done. `own`: where
  // the unit's accesses take other times than the memory's; it is then at one channel, that of its first byte. Throws
  // bad_argument for no such memory.
  time_ps memory_access(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool write, time_ps now,
                        std::optional<access_times> own = {});

  // --- for units beside the outermost cache of a tile: no first cache and no bus is on their way
  // Bytes of one line; a line that is missed comes from its memory. cost of a hit: that of the cache. A tile's own
  // memory, which no outer cache holds, is asked itself.
  time_ps tile_access(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write, time_ps now);
  // Writes the line back, drops it, or both. `done`: when its bytes are in memory; `now` where there is nothing to do.
  struct line_operation {
    time_ps done = 0;
    bool was_modified = false;
  };
  line_operation operate_on_line(std::uint32_t tile, std::uint64_t address, bool to_memory, bool drops, time_ps now);
  [[nodiscard]] std::uint32_t line_bytes_of_tile(std::uint32_t tile) const;
  // Work for a tile, or for the unit beside a memory, sent by a unit of a tile or of a memory: when it has arrived.
  time_ps send_to_tile(std::uint32_t memory, std::uint32_t target_tile, std::uint32_t bytes, time_ps now);
  time_ps send_to_memory(std::uint32_t tile, std::uint32_t memory, std::uint32_t bytes, time_ps now);

  // The memory that holds an address, as map_range() said it; for local_memory that of `tile`. Throws bad_argument.
  [[nodiscard]] std::uint32_t memory_of(std::uint64_t address, std::uint32_t tile) const;

  // Who is told of the lines of each tile's outermost cache; nullptr: nobody. It must outlive the machine, or be unset.
  void observe(line_observer* observer) noexcept;

  // What every part has counted since the beginning or reset_counters().
  [[nodiscard]] std::vector<part_counters> counters() const;
  void reset_counters() noexcept;
  // C-AMAT of a cache, in picoseconds. Those of first caches count what the core waits for, which is for reads alone
  // where they write through.
  [[nodiscard]] camat_figures camat(std::uint32_t cache) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::model
