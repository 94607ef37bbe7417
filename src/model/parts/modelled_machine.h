// A machine made of the parts: models the time of each access when the access happens, and counts events in each part.
//
// Times are exact while requests come in time order; when the executor runs a core ahead of others, a request takes the
// first gap that fits (busy_calendar.h). A core waits for its reads and atomics; its writes go through a buffer of one
// entry if the first cache writes through. docs/design/model.md describes the whole way of an access, with an example.
//
// An executor may look into a core's first cache itself: first_data_cache(core).hit(line) does all of a read hit, which
// costs hit_time and may be counted with count_hits(). All other accesses go through access().
//
// Not thread-safe: a modelled machine runs in one thread. cost: a few nanoseconds for a hit in a first cache, about a
// hundred for an access through bus, mesh and memory.
#pragma once

#include "model/parts/camat.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/set_associative_cache.h"
#include "model/parts/sharing.h"
#include "model/parts/time.h"
#include "model/parts/warm_state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace situ::model {

// An event of a line of a tile's outermost cache.
enum class line_event : std::uint8_t {
  written_back,  // a core ordered its dirty bytes, if any, to memory; the line stays
  evicted,       // the line left, and its dirty bytes, if any, went to memory
  invalidated,   // the line left, and its dirty bytes, if any, are lost
};

// An observer of lines that leave or reach memory, such as a coherence_shadow. `line` is an address divided by the
// cache's line_bytes(). The machine calls the observer before it knows the time of the event.
class line_observer {
 public:
  virtual ~line_observer() = default;
  virtual void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
                       bool was_dirty) = 0;
};

// For map_range(): the tile-local memory of the tile that makes an access, so that each tile has its own bytes there.
inline constexpr std::uint32_t local_memory = none - 1;
// For map_range(), too: a finder names the memory of each page of the range (find_pages_by()).
inline constexpr std::uint32_t by_page = none - 2;

// A range of addresses, all in one memory: an index into machine_spec::memories, or local_memory.
struct page_home {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t memory = 0;
};

class memory_observer;

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

  // Maps the bytes [begin, end) to a memory: an index into spec().memories, local_memory, or by_page. Later ranges
  // override earlier ones. Throws bad_argument if there is no such memory, or the range is empty.
  void map_range(std::uint64_t begin, std::uint64_t end, std::uint32_t memory, bool cacheable = true);
  // Sets the finder of ranges that are mapped by_page: it returns the memory of an address, as a tile sees it, and may
  // throw. The machine asks once for the range that the finder returns, until another one is used or pages_changed().
  void find_pages_by(std::function<page_home(std::uint64_t address, std::uint32_t tile)> finder);
  void pages_changed() noexcept;
  // Makes the pages of [begin, end) pages of 2^shift bytes (21 or 30), as far as whole ones lie in it; 0: pages of the
  // machine's usual size. A machine without TLBs takes no notice.
  void set_page_size(std::uint64_t begin, std::uint64_t end, std::uint32_t shift);

  // Homes the lines of [begin, end) at a tile: from now on only the caches of that tile hold them, and other tiles read
  // and write them there, access by access (homed_pages.cpp). `tile` == none makes them user-managed again, as all
  // ranges are at first: each tile caches them. The lines leave all caches, dirty ones to memory, from `now` on;
  // returns when the last one is there. A range in a tile's own memory, or that is not cacheable, stays as it is. A
  // machine whose caches are all coherent takes no notice. Throws bad_argument if the range is empty or not of whole
  // lines, or if there is no such tile, or its cores share no outermost cache.
  time_ps home_range(std::uint64_t begin, std::uint64_t end, std::uint32_t tile, time_ps now);
  // Returns whether an address that a tile accesses is homed, at this tile or at another one. Throws as memory_of()
  // does.
  [[nodiscard]] bool is_homed(std::uint64_t address, std::uint32_t tile) const;
  // Makes [begin, end) user-managed as home_range() does, but forgets the lines of homed pages, as forget() does.
  void forget_homes(std::uint64_t begin, std::uint64_t end);

  // Models one access of a core that begins at `now`. Returns when the core may continue. An access across lines is
  // several accesses, one after the other. Throws bad_argument for an address outside all ranges. pre: bytes > 0.
  time_ps access(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);

  // goes_ahead() returns whether the core continues past a miss (`window` in the machine's file). For such a core
  // access_ahead() takes the place of access(), and returns when the core may continue, which for most misses is at
  // once. instruction_window.h and load_dependence.h describe when the core waits. Throws as access() does.
  [[nodiscard]] bool goes_ahead(std::uint32_t core) const noexcept;
  time_ps access_ahead(std::uint32_t core, const window_access& of, time_ps now);
  // Models a branch of the core, after `instruction` instructions. After a misprediction the core continues `restart`
  // after the loads since the previous branch have arrived; instructions within its window behind the branch have
  // requested their lines in the meantime. Returns when the core continues. pre: goes_ahead().
  time_ps branch(std::uint32_t core, bool foreseen, std::uint64_t instruction, time_ps restart, time_ps now);
  // Divides a core's window and store buffer among `active` of its hardware threads, those that are not idle; each gets
  // an equal part. `core`: any of its threads. pre: 0 < active <= core_spec::threads.
  void share_core(std::uint32_t core, std::uint32_t active);
  // Returns when all accesses that the core has in flight are done.
  time_ps wait_for_all(std::uint32_t core, time_ps now);

  // Functional warming, for a part of a program that is not priced: between begin_warming() and end_warming(), warm()
  // takes the place of access() and access_ahead(), and changes what caches, TLBs and prefetchers hold without time.
  // Counters are 0 in between and at its end. pre: the bytes are in one line of the core's first cache.
  void begin_warming() noexcept;
  void end_warming() noexcept;
  void warm(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);

  // first_data_cache() returns the first cache for the core's reads and writes. pre: the core has one (has_data_cache).
  [[nodiscard]] bool has_data_cache(std::uint32_t core) const noexcept;
  [[nodiscard]] set_associative_cache& first_data_cache(std::uint32_t core) noexcept;
  [[nodiscard]] time_ps first_hit_time(std::uint32_t core) const noexcept;
  // Counts read and write hits that the executor found itself.
  void count_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) noexcept;

  // Do the same for the first cache of the core's instructions alone. pre: the core has one (has_instruction_cache).
  // For an executor, a core without such a cache fetches nothing.
  [[nodiscard]] bool has_instruction_cache(std::uint32_t core) const noexcept;
  [[nodiscard]] set_associative_cache& first_instruction_cache(std::uint32_t core) noexcept;
  [[nodiscard]] time_ps first_fetch_time(std::uint32_t core) const noexcept;
  void count_fetch_hits(std::uint32_t core, std::uint64_t lines) noexcept;
  // Returns when the core's ITLB has translated the address of a fetch. Only an executor that looks into the
  // instruction cache itself calls it; access() translates addresses itself.
  time_ps translate_fetch(std::uint32_t core, std::uint64_t address, time_ps now);

  // Returns the instructions that the core has retired for page walks in software, which are not the program's.
  [[nodiscard]] std::uint64_t walk_instructions(std::uint32_t core) const noexcept;

  // Operate on all caches of the core's tile for the bytes [begin, end): write_back() writes dirty lines to memory and
  // keeps them, invalidate() drops lines with their dirty bytes, flush() writes lines back and drops them. The core
  // issues a command per line or, if the range is larger than the cache, one per line that is in the cache. Returns
  // when the last line is done. invalidate() writes dirty lines back that are homed at the tile: no other bytes of them
  // are in memory, which a later fetch by the home could mean.
  time_ps write_back(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);
  time_ps invalidate(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);
  time_ps flush(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now);

  // Declares the bytes [begin, end) as new: caches lose their lines of the earlier bytes, dirty or not. The call takes
  // no modelled time and notifies no observer. Coherent caches keep their lines, which agree with memory in any case.
  void forget(std::uint64_t begin, std::uint64_t end);

  // Sends work to another tile: `bytes` of arguments into the tile's local memory. Returns when the bytes have arrived;
  // the core is free once the adapter has taken them (adapter_time).
  time_ps send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now);
  // Sends a raw message (spec().raw) whose sender is done at `now`: its last flit enters the network then. Returns when
  // it has arrived. Neither adapters nor memories take part. Throws bad_argument if there is no such tile.
  time_ps send_raw(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now);
  // Copies bytes between two memories past the caches, by the adapter of the core's tile. Returns when the last byte
  // has arrived; the core need not wait. Throws bad_argument for an address outside all ranges.
  time_ps dma(std::uint32_t core, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, time_ps now);
  // A copy that is carried out packet by packet, for callers that let other requests in between: call step_dma() until
  // the transfer is over. A step moves its bytes at `next`.
  struct dma_transfer {
    std::uint32_t tile = none;  // tile of the counting adapter; none: a unit next to the source asked
    std::uint32_t source = none;
    std::uint32_t target = none;
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;
    time_ps asked = 0;
    time_ps next = 0;  // when the next packet is read
    time_ps done = 0;  // when the last packet so far arrives
    [[nodiscard]] bool is_over() const noexcept { return at == bytes; }
  };
  [[nodiscard]] dma_transfer begin_dma(std::uint32_t core, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                                       time_ps now);
  [[nodiscard]] dma_transfer begin_dma_of_memory(std::uint32_t source, std::uint32_t target, std::uint64_t to,
                                                 std::uint64_t from, std::uint64_t bytes, time_ps now);
  void step_dma(dma_transfer& transfer);
  // Reads and writes a word at its memory, past the caches. Returns when the old value is back.
  time_ps remote_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now);

  // Models an access of a unit next to a memory, through neither network nor caches. Returns when the access is done.
  // `own`: the unit's times, if they differ from the memory's; the access then uses one channel, that of its first
  // byte. Throws bad_argument if there is no such memory.
  time_ps memory_access(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool write, time_ps now,
                        std::optional<access_times> own = {});

  // Models a request that reaches a memory from nowhere: a trace's. Returns when its last byte is done. pre: there is
  // such a memory, and bytes > 0.
  time_ps memory_request(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool write, time_ps now);

  // --- for units next to the outermost cache of a tile: their accesses pass neither a first cache nor a bus
  // Accesses bytes of one line; a missing line is fetched from its memory. A hit takes the cache's hit time. An access
  // to a tile's own memory, which no outer cache holds, goes to that memory.
  time_ps tile_access(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write, time_ps now);
  // Writes the line back, drops it, or both. `done`: when the line's bytes are in memory; `now` if there is nothing to
  // do.
  struct line_operation {
    time_ps done = 0;
    bool was_modified = false;
  };
  line_operation operate_on_line(std::uint32_t tile, std::uint64_t address, bool to_memory, bool drops, time_ps now);
  [[nodiscard]] std::uint32_t line_bytes_of_tile(std::uint32_t tile) const;
  // Sends work from a unit of a memory to a tile, or from a unit of a tile to the unit next to a memory. Returns the
  // time of arrival.
  time_ps send_to_tile(std::uint32_t memory, std::uint32_t target_tile, std::uint32_t bytes, time_ps now);
  time_ps send_to_memory(std::uint32_t tile, std::uint32_t memory, std::uint32_t bytes, time_ps now);

  // Returns the memory of an address by map_range(); for local_memory the local memory of `tile`. Throws bad_argument
  // if no range holds the address.
  [[nodiscard]] std::uint32_t memory_of(std::uint64_t address, std::uint32_t tile) const;

  // Sets the observer of each tile's outermost cache; nullptr removes it. The observer must outlive the machine, or be
  // removed.
  void observe(line_observer* observer) noexcept;
  // Sets the observer of lines that cores take from each other; nullptr removes it. The same holds for it.
  void observe_sharing(sharing_observer* observer) noexcept;

  // And that of requests that reach the memories (memory_observer.h). Without one an access takes no instruction more.
  void observe_memories(memory_observer* observer) noexcept;

  // Append the contents of all caches, TLBs and prefetchers to words, and take such contents over. state_hash() is
  // equal for machines that can take over each other's contents. load_state() throws bad_file if there are too few
  // words.
  [[nodiscard]] std::uint64_t state_hash() const;
  void save_state(state_words& to) const;
  void load_state(state_reader& from);

  // Returns the counts of every part since the beginning or reset_counters().
  [[nodiscard]] std::vector<part_counters> counters() const;
  // Adds counts of prefetched lines, used and unused, to the parts of caches with a prefetcher (docs/design/model.md).
  void add_prefetched(std::vector<part_counters>& to) const;
  // Returns a core's counts of what it lost to others.
  [[nodiscard]] sharing_counts sharing(std::uint32_t core) const noexcept;
  // Returns the time of a line's way from another core's first cache, if nothing else is under way; 0 for a core
  // without a data cache.
  [[nodiscard]] time_ps transfer_time(std::uint32_t core) const noexcept;
  void reset_counters() noexcept;
  // Returns the C-AMAT figures of a cache, in picoseconds. The figures of a first cache count the core's waiting, which
  // is for reads alone if the cache writes through.
  [[nodiscard]] camat_figures camat(std::uint32_t cache) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::model
