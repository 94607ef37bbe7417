// What modelled execution asks of a modelled machine: its cores, and how long an access takes.
//
// The executor asks in the order of time, one access after the other, from one host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <situ/machine/tree.h>

#include "model/parts/coherence_shadow.h"
#include "model/parts/counters.h"
#include "model/parts/time.h"

namespace situ::model {

// A core's first cache, for the executor to look into by itself: an access that finds its line in the first way of its
// set, the one used last there, costs `hit_ps` and changes nothing, so the machine need not hear of it.
//
// The first way of a line's set is entries[(line & (sets - 1)) * ways]; it holds line * 4 + bits.
struct front_cache {
  static constexpr std::uint64_t dirty_and_writable = 3;  // the bits with which a write needs nothing from anybody
  const std::uint64_t* entries = nullptr;                 // nullptr: none, each access goes to the machine
  std::uint32_t sets = 1;                                 // power of two
  std::uint32_t ways = 1;
  std::uint32_t line_bytes = 64;  // power of two
  time_ps hit_ps = 0;
  std::uint64_t page_bytes =
      0;  // of the TLB, whose last page alone the executor knows: others go to the machine; 0: none
};

class modelled_machine;

class memory_port {
 public:
  virtual ~memory_port() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::uint32_t core_count() const = 0;
  [[nodiscard]] virtual std::uint32_t tile_of(std::uint32_t core) const = 0;
  [[nodiscard]] virtual time_ps period_ps(std::uint32_t core) const = 0;
  // Of each class of instruction.
  [[nodiscard]] virtual const machine::instruction_cycles& cycles(std::uint32_t core) const = 0;
  // How many instructions of several classes it does in a cycle; 0: one after the other.
  [[nodiscard]] virtual double width(std::uint32_t) const { return 0; }
  // Stays where it is as long as the machine lives.
  [[nodiscard]] virtual front_cache front(std::uint32_t core) const = 0;

  // The same of the cache that its instructions come through, if it has one for instructions alone: a fetch that finds
  // its line in the first way of its set changes nothing, and is waited for by nobody.
  [[nodiscard]] virtual front_cache fetch_front(std::uint32_t) const { return {}; }
  // The fetch comes to another page than the one before: when its address is translated.
  virtual time_ps translate_fetch(std::uint32_t /*core*/, std::uintptr_t /*address*/, time_ps now) { return now; }
  // Whether that cache has the line in any way; then it becomes the last used. Counts nothing: add_fetch_hits() does.
  // Other lines are asked for by access().
  [[nodiscard]] virtual bool fetch_hit(std::uint32_t /*core*/, std::uint64_t /*line*/) { return false; }

  // When an access that begins at `now` is over. [address, address + bytes) lies in one line of the front.
  virtual time_ps access(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                         time_ps now) = 0;
  // Whether the core goes on past a miss: then all its accesses are asked for here, and the front has no entries. When
  // it may go on.
  [[nodiscard]] virtual bool goes_ahead(std::uint32_t) const { return false; }
  virtual time_ps access_ahead(std::uint32_t core, const window_access& of, time_ps now) {
    return access(core, of.address, of.bytes, of.kind, now);
  }
  // Such a core comes to a branch: modelled_machine::branch().
  virtual time_ps branch(std::uint32_t, bool, std::uint64_t, time_ps restart, time_ps now) { return now + restart; }
  // When all is done that it has under way.
  virtual time_ps wait_for_all(std::uint32_t, time_ps now) { return now; }
  // Operations on all caches of the core's tile for [begin, end); a whole address space is all that they hold. When
  // they are done. What invalidate() drops is lost, but for lines that the range has in part: those it flushes.
  virtual time_ps write_back(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  virtual time_ps invalidate(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  virtual time_ps flush(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) = 0;
  // Whose orders the next ones are, for what check_coherence() finds.
  virtual void set_cause(std::uintptr_t /*code*/) {}
  // When so many bytes that the core sends to a tile have arrived there. The core goes on at once.
  virtual time_ps send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now) = 0;
  // When bytes that a DMA unit copies are there.
  virtual time_ps dma(std::uint32_t core, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, time_ps now) = 0;
  // Says where a place's slice of a job's memory lies: [begin, end), with its channels before `heap`.
  virtual void map_slice(std::uint32_t tile, std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap,
                         std::uintptr_t end) = 0;
  // From here on tiles see the bytes that they would see: `found` is told of each stale read and lost write in the
  // slices. False where the machine's tiles are coherent, or there is one.
  virtual bool check_coherence(std::function<void(const coherence_report&)> found) = 0;
  // Puts the bytes in place that the core's tile sees, after the access to them has been asked for and before it
  // happens; `at` is the code's address.
  virtual void see(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                   std::uintptr_t at) = 0;
  // The same for who goes past all caches.
  virtual void see_memory(std::uintptr_t address, std::size_t bytes, bool writes) = 0;
  // The same for a unit that reads through a tile's caches.
  virtual void see_tile(std::uint32_t /*tile*/, std::uintptr_t /*address*/, std::uint32_t /*bytes*/) {}
  // Its parts, for what works beside them; nullptr: it has none.
  [[nodiscard]] virtual modelled_machine* parts() noexcept { return nullptr; }
  // So many more reads and writes the front has answered.
  virtual void add_front_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) = 0;
  virtual void add_fetch_hits(std::uint32_t /*core*/, std::uint64_t /*lines*/) {}

  // Counters of its parts by name, for the report; `more` adds those of what works beside them.
  [[nodiscard]] virtual std::vector<part_counters> counters() const = 0;
  virtual void add_counters(std::function<void(std::vector<part_counters>&)> /*more*/) {}
};

}  // namespace situ::model
