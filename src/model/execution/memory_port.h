// The executor's interface to a modelled machine: its cores, and the time of an access.
//
// The executor makes its calls in time order, one access after the other, from one host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <situ/machine/tree.h>

#include "model/parts/coherence_shadow.h"
#include "model/parts/counters.h"
#include "model/parts/sharing.h"
#include "model/parts/time.h"
#include "model/parts/warm_state.h"

namespace situ::model {

// A core's first cache, which the executor looks into itself: an access that finds its line in the first way of its
// set, the way used last there, costs `hit_ps` and changes nothing, so the executor need not call the machine.
//
// The first entry of a line's set is entries[(line & (sets - 1)) * ways]; it holds line * 4 + bits.
struct front_cache {
  static constexpr std::uint64_t dirty_and_writable = 3;  // the bits with which a write needs no request
  const std::uint64_t* entries = nullptr;                 // nullptr: no cache, each access goes to the machine
  std::uint32_t sets = 1;                                 // power of two
  std::uint32_t ways = 1;                                 // entries of a set: set_associative_cache::stride()
  std::uint32_t line_bytes = 64;                          // power of two
  time_ps hit_ps = 0;
  // TLB page size; 0: no TLB. The executor knows only the last page; accesses to other pages go to the machine.
  std::uint64_t page_bytes = 0;
};

// One of a core's hardware threads. The executor has a core, with a clock, for each of them.
struct hardware_thread {
  std::uint32_t core = 0;  // number of its core: that of the core's first thread
  std::uint32_t number = 0;
  std::uint32_t count = 1;
};

class memory_observer;
class memory_rooms;
class modelled_machine;

class memory_port {
 public:
  virtual ~memory_port() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::uint32_t core_count() const = 0;
  [[nodiscard]] virtual std::uint32_t tile_of(std::uint32_t core) const = 0;
  [[nodiscard]] virtual time_ps period_ps(std::uint32_t core) const = 0;
  // Returns the cycles of each class of instruction.
  [[nodiscard]] virtual const machine::instruction_cycles& cycles(std::uint32_t core) const = 0;
  // Returns how many instructions of several classes the core executes in a cycle; 0: one after the other.
  [[nodiscard]] virtual double width(std::uint32_t) const { return 0; }
  // Returns the core's place among the hardware threads of its core. share_core() divides the window of that core among
  // `active` of them: modelled_machine::share_core().
  [[nodiscard]] virtual hardware_thread thread_of(std::uint32_t core) const { return {.core = core}; }
  virtual void share_core(std::uint32_t /*core*/, std::uint32_t /*active*/) {}
  // Returns the core's first cache; its entries do not move while the machine lives.
  [[nodiscard]] virtual front_cache front(std::uint32_t core) const = 0;

  // Returns the same for the core's instruction cache, if the core has a cache for instructions alone: a fetch that
  // finds its line in the first way of its set changes nothing and takes no time.
  [[nodiscard]] virtual front_cache fetch_front(std::uint32_t) const { return {}; }
  // Returns when the address of a fetch is translated. Called if the fetch is from another page than the fetch before.
  virtual time_ps translate_fetch(std::uint32_t /*core*/, std::uintptr_t /*address*/, time_ps now) { return now; }
  // Returns the instructions that the core has retired for page walks in software.
  [[nodiscard]] virtual std::uint64_t walk_instructions(std::uint32_t /*core*/) const { return 0; }
  // Returns whether any way of that cache has the line; the line then becomes the last used. Counts nothing:
  // add_fetch_hits() does. Lines that miss are requested by access().
  [[nodiscard]] virtual bool fetch_hit(std::uint32_t /*core*/, std::uint64_t /*line*/) { return false; }

  // Returns whether the core's first cache has the line of this address. Changes and counts nothing.
  [[nodiscard]] virtual bool first_cache_holds(std::uint32_t /*core*/, std::uintptr_t /*address*/) const {
    return false;
  }

  // Returns when an access that begins at `now` is over. [address, address + bytes) lies in one line of the front.
  virtual time_ps access(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                         time_ps now) = 0;
  // goes_ahead() returns whether the core continues past a miss: access_ahead() then takes all its accesses, and the
  // front has no entries. access_ahead() returns when the core may continue.
  [[nodiscard]] virtual bool goes_ahead(std::uint32_t) const { return false; }
  virtual time_ps access_ahead(std::uint32_t core, const window_access& of, time_ps now) {
    return access(core, of.address, of.bytes, of.kind, now);
  }
  // Models a branch of such a core: modelled_machine::branch().
  virtual time_ps branch(std::uint32_t, bool, std::uint64_t, time_ps restart, time_ps now) { return now + restart; }
  // Returns when all accesses that the core has in flight are done.
  virtual time_ps wait_for_all(std::uint32_t, time_ps now) { return now; }
  // As in modelled_machine. begin_warming() returns false if the machine has no parts to warm.
  [[nodiscard]] virtual bool begin_warming() { return false; }
  virtual void end_warming() {}
  virtual void warm(std::uint32_t, std::uintptr_t /*address*/, std::uint32_t /*bytes*/, access_kind, time_ps) {}
  // Operate on all caches of the core's tile for [begin, end); the whole address space stands for all lines that the
  // caches hold. Return when the operation is done. invalidate() loses the dirty bytes of dropped lines, but flushes
  // lines that the range covers only in part.
  virtual time_ps write_back(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  virtual time_ps invalidate(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  virtual time_ps flush(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  // Sets the code that gives the next orders, for the reports of check_coherence().
  virtual void set_cause(std::uintptr_t /*code*/) {}
  // Returns when `bytes` bytes that the core sends to a tile have arrived there. The core continues at once.
  virtual time_ps send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now) = 0;
  // Returns when the bytes that a DMA unit copies have arrived.
  virtual time_ps dma(std::uint32_t core, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, time_ps now) = 0;
  // Maps a place's slice of a job's memory: [begin, end), with its channels before `heap`.
  virtual void map_slice(std::uint32_t tile, std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap,
                         std::uintptr_t end) = 0;
  // Takes room in the machine's memories for a tile's block in the whole pages [begin, end); returns false if there is
  // too little. has_room() returns whether there is enough for so many bytes. Both count a refusal. A machine whose
  // memories have no sizes always has room.
  [[nodiscard]] virtual bool take_room(std::uint32_t, std::uintptr_t, std::uintptr_t) { return true; }
  [[nodiscard]] virtual bool has_room(std::uint32_t, std::size_t) { return true; }
  virtual void give_room_back(std::uintptr_t, std::uintptr_t) {}
  // Makes pages of 2^shift bytes of [begin, end): modelled_machine::set_page_size().
  virtual void set_page_size(std::uintptr_t, std::uintptr_t, std::uint32_t /*shift*/) {}
  // Homes [begin, end) at a tile, or, at ~0, at none: modelled_machine::home_range(). Returns when that is done.
  virtual time_ps home_pages(std::uintptr_t, std::uintptr_t, std::uint32_t /*tile*/, time_ps now) { return now; }
  // Returns the size of the memories that hold places' heaps; 0 if it is not known.
  [[nodiscard]] virtual std::uint64_t bytes_for_places() const { return 0; }
  // Returns the use of the machine's memories; nullptr if they have no sizes.
  [[nodiscard]] virtual const memory_rooms* rooms() const noexcept { return nullptr; }
  // Makes tiles see the bytes that they would see on the machine from now on, and calls `found` for each stale read and
  // lost write in the slices. Returns false if the machine's tiles are coherent, or there is one tile.
  virtual bool check_coherence(std::function<void(const coherence_report&)> found) = 0;
  // Puts the bytes in place that the core's tile sees. The executor calls it after it has asked for the access, and
  // before the access happens; `at` is the code's address.
  virtual void see(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                   std::uintptr_t at) = 0;
  // Does the same for an access past all caches.
  virtual void see_memory(std::uintptr_t address, std::size_t bytes, bool writes) = 0;
  // Does the same for a unit that reads through a tile's caches.
  virtual void see_tile(std::uint32_t /*tile*/, std::uintptr_t /*address*/, std::uint32_t /*bytes*/) {}
  // Returns the machine's parts, for units that work next to them; nullptr if it has no parts.
  [[nodiscard]] virtual modelled_machine* parts() noexcept { return nullptr; }
  // Adds reads and writes that hit in the front.
  virtual void add_front_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) = 0;
  virtual void add_fetch_hits(std::uint32_t /*core*/, std::uint64_t /*lines*/) {}

  // counters() returns the counters of the machine's parts by name, for the report; `more` adds those of units next to
  // them.
  [[nodiscard]] virtual std::vector<part_counters> counters() const = 0;
  // Returns what the core lost to others; nothing on a machine without coherent caches.
  [[nodiscard]] virtual sharing_counts sharing(std::uint32_t /*core*/) const { return {}; }
  // Returns the time of a line's way from another core's first cache, if nothing else is under way.
  [[nodiscard]] virtual time_ps transfer_ps(std::uint32_t /*core*/) const { return 0; }
  // Sets the observer of lines that cores take from each other.
  virtual void observe_sharing(sharing_observer* /*observer*/) {}
  // Sets the observer of requests that reach the memories. Returns false if the machine has no memories.
  [[nodiscard]] virtual bool observe_memories(memory_observer* /*observer*/) { return false; }
  // Are those of modelled_machine.
  [[nodiscard]] virtual std::uint64_t state_hash() const = 0;
  virtual void save_state(state_words& to) const = 0;
  virtual void load_state(state_reader& from) = 0;
  virtual void add_counters(std::function<void(std::vector<part_counters>&)> /*more*/) {}
};

}  // namespace situ::model
