// What the graph units are wired to: a memory beside them, the caches and the local memory of their tile, the network.
//
// A port says when an access that begins at `now` is done, and counts it. The bytes themselves are this process's own:
// ports only tell the time. A modelled machine implements them over its parts (machine_memory.h); direct_memory.h is
// the memory alone. Not thread-safe.
#pragma once

#include "model/parts/time.h"

#include <cstdint>

namespace situ::model {

// What went through a port.
struct port_traffic {
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  friend bool operator==(const port_traffic&, const port_traffic&) = default;
};

// A memory, past all caches.
class memory_port {
 public:
  virtual ~memory_port() = default;

  // Accesses that are waited for: the time when the bytes are there, or are written. pre: bytes > 0.
  time_ps read(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_read(bytes);
    return read_at(address, bytes, now);
  }
  time_ps write(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_write(bytes);
    return write_at(address, bytes, now);
  }
  // A write that nobody waits for: the memory's time, not the unit's.
  void post(std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    count_write(bytes);
    post_at(address, bytes, now);
  }
  // Zeroes a range, as fast as the memory takes words.
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

// The cache of a tile, as a unit beside it sees it. Lines are named by any address in them.
class cache_port {
 public:
  virtual ~cache_port() = default;
  [[nodiscard]] virtual std::uint32_t line_bytes() const noexcept = 0;
  // Through the cache, from or to one line; returns when done.
  virtual time_ps read(std::uintptr_t address, std::uint32_t bytes, time_ps now) = 0;
  virtual time_ps write(std::uintptr_t address, std::uint32_t bytes, time_ps now) = 0;
  // A line that is modified goes to memory and stays; any other costs the command alone.
  struct written_line {
    time_ps done = 0;
    bool was_modified = false;
  };
  virtual written_line write_back(std::uintptr_t address, time_ps now) = 0;
  // The line leaves the cache; what was modified in it is lost.
  virtual time_ps invalidate(std::uintptr_t address, time_ps now) = 0;
};

// What leaves a tile through its network adapter.
class network_port {
 public:
  virtual ~network_port() = default;
  // A task with `bytes` of data, moved by DMA into the local memory of another tile, spawned there when it has arrived.
  // Returns when that is.
  virtual time_ps spawn_with_data(std::uint32_t tile, std::uint64_t bytes, time_ps now) = 0;
};

}  // namespace situ::model
