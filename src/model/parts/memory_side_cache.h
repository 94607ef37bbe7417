// A cache in front of a memory, at the memory's side: MCDRAM in front of DDR (the cache mode of Knights Landing), or DRAM
// in front of persistent memory (the memory mode of Optane).
//
// Its lines are in a memory of its own (memory_channels.h), tags beside the bytes: an access of that memory looks a line
// up and reads or writes it. All requests for the memory behind come through the cache, so it is never stale.
//
//   hit                an access of the cache's memory
//   miss               the same, then the memory behind: the whole line is fetched, and is written into the cache's
//                      memory while the requester goes on
//   write of a line    needs no fetch
//   eviction           the look-up has read the old line; if it is dirty, it is written to the memory behind then, and
//                      nobody waits for it
//
// Worked example (lines of 64 bytes, 64 KiB, direct mapped; the cache's memory 40 ns, 4 ns a line; the memory behind 100
// and 10 ns): a read of byte 0 at 0 looks until 40 and has its line at 140; again at 1000, it is there at 1040. A write of
// the line at 65536 at 2000 replaces it without a fetch, done at 2040. A read of byte 0 at 3000 has its line at 3140; the
// dirty line goes to the memory then, so that a miss at 3105, which asks the memory at 3145, is served at 3150: 3250.
//
// Not thread-safe. cost: a look-up in a set_associative_cache, and the memories' reservations. Sets take host memory, 8
// bytes a way, when the first of a block of 4096 is used: those of 16 GiB would be 2 GiB.
#pragma once

#include <situ/base/error.h>

#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/memory_channels.h"
#include "model/parts/set_associative_cache.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace situ::model {

class memory_side_cache {
 public:
  // pre: of.sets is a power of two, or a multiple of sets_of_block.
  explicit memory_side_cache(const side_cache_spec& of)
      : spec_{of},
        channels_{of.data},
        blocks_((of.sets + side_cache_spec::sets_of_block - 1) / side_cache_spec::sets_of_block) {}

  // Reads or writes bytes; the request arrives at `now`. Calls reach(address, bytes, write, time) for an access of the
  // memory behind, which returns its end. Returns when the last byte is done. pre: bytes > 0.
  template <class Reach>
  time_ps access(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now, Reach&& reach) {
    time_ps done = now;
    for (const std::uint64_t end = address + bytes; address < end;) {
      const std::uint64_t next = std::min(end, (address / spec_.line_bytes + 1) * spec_.line_bytes);
      done = std::max(done, access_line(address, next - address, write, now, reach));
      address = next;
    }
    return done;
  }

  // Changes what the cache holds, as access() does, without time.
  void warm(std::uint64_t address, std::uint64_t bytes, bool write) {
    for (std::uint64_t line = address / spec_.line_bytes; line <= (address + bytes - 1) / spec_.line_bytes; ++line) {
      set_associative_cache& tags = tags_of(line);
      if (!(write ? tags.hit_for_write(line) : tags.hit(line))) tags.fill(line, {.dirty = write, .writable = true});
    }
  }

  [[nodiscard]] part_counters counters() const {
    part_counters made{spec_.data.name,
                       "memory-side cache",
                       {{"hits", hits_},
                        {"misses", misses_},
                        {"evictions", evictions_},
                        {"write_backs", write_backs_},
                        {"busy_ps", channels_.busy()}}};
    channels_.append_counters(made);
    return made;
  }
  void reset_counters() noexcept {
    channels_.reset_counters();
    hits_ = misses_ = evictions_ = write_backs_ = 0;
  }

  // Append the lines to words, block after block, and take them from such words.
  void save(state_words& to) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!blocks_[i]) continue;
      to.push_back(i);
      blocks_[i]->save(to);
    }
    to.push_back(blocks_.size());
  }
  void load(state_reader& from) {
    for (std::unique_ptr<set_associative_cache>& each : blocks_) each.reset();
    for (std::uint64_t block = from.next(); block != blocks_.size(); block = from.next()) {
      if (block > blocks_.size()) throw_error(errc::bad_file, "a memory-side cache has no such block of sets");
      (void)tags_of(block * side_cache_spec::sets_of_block).load(from);
    }
  }

 private:
  // The tags of a line's block of sets. A block's sets are a power of two, so the line's low bits are its set there.
  [[nodiscard]] set_associative_cache& tags_of(std::uint64_t line) {
    const std::uint64_t block = line % spec_.sets / side_cache_spec::sets_of_block;
    std::unique_ptr<set_associative_cache>& tags = blocks_[block];
    if (!tags) [[unlikely]] {
      replacement_spec replacement = spec_.replacement;
      replacement.seed += block << 32;
      tags = std::make_unique<set_associative_cache>(
          static_cast<std::uint32_t>(std::min(spec_.sets, side_cache_spec::sets_of_block)), spec_.ways,
          spec_.line_bytes, replacement);
    }
    return *tags;
  }
  // Returns where a line's bytes lie in the cache's memory: those of a set side by side.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t line) const noexcept {
    return line % spec_.sets * spec_.ways * spec_.line_bytes;
  }

  template <class Reach>
  time_ps access_line(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now, Reach& reach) {
    const std::uint64_t line = address / spec_.line_bytes;
    const std::uint64_t begin = line * spec_.line_bytes;
    set_associative_cache& tags = tags_of(line);
    const time_ps looked = channels_.access(place_of(line) + (address - begin), bytes, now);
    if (write ? tags.hit_for_write(line) : tags.hit(line)) {
      ++hits_;
      return looked;
    }
    ++misses_;
    const bool is_whole = write && bytes == spec_.line_bytes;
    const time_ps done = is_whole ? looked : reach(begin, spec_.line_bytes, false, looked);
    channels_.access(place_of(line), spec_.line_bytes, done);
    const set_associative_cache::victim gone = tags.fill(line, {.dirty = write, .writable = true});
    if (!gone.exists()) return done;
    ++evictions_;
    if (!gone.state.dirty) return done;
    ++write_backs_;
    reach(gone.line * spec_.line_bytes, spec_.line_bytes, true, done);
    return done;
  }

  side_cache_spec spec_;
  memory_channels channels_;
  std::vector<std::unique_ptr<set_associative_cache>> blocks_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t write_backs_ = 0;
};

}  // namespace situ::model
