// The ports of the graph units: to the memory next to them, to the caches and the local memory of their tile, and to
// the network.
//
// A port returns when an access that begins at `now` is done, and counts the access. Ports model time alone: the bytes
// are in this process's memory. machine_memory.h implements a port on the parts of a modelled machine; direct_memory.h
// models the memory alone. Not thread-safe.
#pragma once

#include "model/parts/time.h"

#include <cstdint>

namespace situ::model {

// The times of a graph unit's accesses at the memory next to the unit. These accesses are of words, not of lines.
//
//   an access that is waited for   first word `read_cycles` or `write_cycles`, each further word one cycle
//   a range zeroed                 `clear_start_cycles`, then a cycle a word
//   a range moved                  a read and a write of one word, then two cycles a word: one data path
//
// Each of these accesses occupies the memory for `occupied_cycles` and one cycle a word.
struct unit_memory_timing {
  time_ps period = 10'000;            // 100 MHz: table 2
  std::uint64_t bytes_per_cycle = 4;  // a word of 32 bits: arrays take 2 cycles a word, one in and one out (5.3.2)
  std::uint64_t read_cycles = 26;     // calibrated: 20 to 30 for a pointer mask (5.3.1); 2.8 us and 7.4 us fix 26
  std::uint64_t write_cycles = 26;  // calibrated together with read_cycles: no write of the unit's own state is posted
  std::uint64_t clear_start_cycles = 8;  // calibrated: hashing takes 0.4 us more at length 1 (5.3.3)
  // assumed: as for the start of zeroing. Figure 8 allows up to 11: a line of 8 words goes in and out in 38 cycles.
  std::uint64_t occupied_cycles = 8;
  std::uint64_t line_bytes = 32;  // posts to one line are one write: assumed, as the unit's line buffer

  [[nodiscard]] std::uint64_t words(std::uint64_t bytes) const noexcept {
    return (bytes + bytes_per_cycle - 1) / bytes_per_cycle;
  }
  [[nodiscard]] access_times read(std::uint64_t bytes) const noexcept {
    return {(read_cycles + words(bytes) - 1) * period, occupancy(bytes)};
  }
  [[nodiscard]] access_times write(std::uint64_t bytes) const noexcept {
    return {(write_cycles + words(bytes) - 1) * period, occupancy(bytes)};
  }
  [[nodiscard]] access_times clear(std::uint64_t bytes) const noexcept {
    return {(clear_start_cycles + words(bytes)) * period, occupancy(bytes)};
  }
  [[nodiscard]] time_ps occupancy(std::uint64_t bytes) const noexcept {
    return (occupied_cycles + words(bytes)) * period;
  }
};

// The traffic of a port.
struct port_traffic {
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  friend bool operator==(const port_traffic&, const port_traffic&) = default;
};

// A run of a program in which a unit works. Cores and other units with earlier events go first, and may see other bytes
// than the unit.
class unit_surroundings {
 public:
  virtual ~unit_surroundings() = default;
  // Returns when no core or other unit has an event before `now`.
  virtual void take_turn(time_ps now) = 0;
  // Puts the bytes in place that the memory holds, or that a tile sees through its cache.
  virtual void see_memory(std::uintptr_t address, std::uint64_t bytes, bool writes) = 0;
  virtual void see_cache(std::uint32_t tile, std::uintptr_t address, std::uint64_t bytes) = 0;
};

// The port to a memory, past all caches.
class unit_memory_port {
 public:
  virtual ~unit_memory_port() = default;

  // Returns when the bytes are read or written; the unit waits for the access. pre: bytes > 0.
  time_ps read(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_read(bytes);
    return read_at(address, bytes, now);
  }
  time_ps write(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_write(bytes);
    return write_at(address, bytes, now);
  }
  // Starts a write. The write takes the memory's time; the unit does not wait for it.
  void post(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_write(bytes);
    post_at(address, bytes, now);
  }
  // Zeroes a range at the rate at which the memory takes words.
  time_ps clear(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_write(bytes);
    return clear_at(address, bytes, now);
  }
  // Moves a range, reads and writes overlapped, as a DMA unit does.
  time_ps copy(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes, time_ps now) {
    count_read(bytes);
    count_write(bytes);
    return copy_at(from, to, bytes, now);
  }
  // Puts the bytes in place that the unit would find in the memory. The unit calls it before it touches the bytes.
  virtual void see(std::uintptr_t /*address*/, std::uint64_t /*bytes*/, bool /*writes*/) {}
  [[nodiscard]] const port_traffic& traffic() const noexcept { return traffic_; }

 private:
  virtual time_ps read_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) = 0;
  virtual time_ps write_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) = 0;
  virtual void post_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) = 0;
  virtual time_ps clear_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) = 0;
  virtual time_ps copy_at(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes, time_ps now) = 0;

  void count_read(std::uint64_t bytes) noexcept {
    ++traffic_.reads;
    traffic_.read_bytes += bytes;
  }
  void count_write(std::uint64_t bytes) noexcept {
    ++traffic_.writes;
    traffic_.written_bytes += bytes;
  }
  port_traffic traffic_;
};

// The cache of a tile, as seen by a unit next to it. Any address in a line names the line.
class cache_port {
 public:
  virtual ~cache_port() = default;
  [[nodiscard]] virtual std::uint32_t line_bytes() const noexcept = 0;
  // Reads or writes bytes of one line through the cache; returns when the access is done.
  virtual time_ps read(std::uintptr_t address, std::uint32_t bytes, time_ps now) = 0;
  virtual time_ps write(std::uintptr_t address, std::uint32_t bytes, time_ps now) = 0;
  // Writes a modified line to memory and keeps it in the cache; for any other line only the command costs time.
  struct written_line {
    time_ps done = 0;
    bool was_modified = false;
  };
  virtual written_line write_back(std::uintptr_t address, time_ps now) = 0;
  // Drops the line from the cache; modified bytes are lost.
  virtual time_ps invalidate(std::uintptr_t address, time_ps now) = 0;
  // Does the same as unit_memory_port::see(), for reads.
  virtual void see(std::uintptr_t /*address*/, std::uint64_t /*bytes*/) {}
};

// The port to the network, through the tile's network adapter.
class network_port {
 public:
  virtual ~network_port() = default;
  // Moves `bytes` of data by DMA into the local memory of another tile, and spawns a task there when the data has
  // arrived. Returns the time of arrival.
  virtual time_ps spawn_with_data(std::uint32_t tile, std::uint64_t bytes, time_ps now) = 0;
};

}  // namespace situ::model
