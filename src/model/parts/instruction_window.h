// The instruction window with which a core continues past a miss: up to `instructions` instructions are in flight and
// retire in order, and a buffer holds stores that wait for their lines.
//
// An instruction enters when all instructions that are `instructions` older have retired. So a long load stops the core
// not at once, but that many instructions later. Stores leave the window at once. They leave the buffer in order, each
// when its line has arrived; a store that finds the buffer full waits for the oldest. A load of bytes that a store in
// the buffer holds gets them from the buffer.
//
// Worked example (a window of 100 instructions, one a ns): a load at instruction 0 takes 300 ns; instruction 50 enters
// at 50 ns, and its load, of 300 ns too, completes at 350; instruction 100 enters at 300 ns, and 150 at 350.
//
// Not thread-safe. cost: constant for each access, and linear in the stores for loads near the bytes of one in the
// buffer.
#pragma once

#include "model/parts/ring_queue.h"
#include "model/parts/small_hash.h"
#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::model {

class instruction_window {
 public:
  instruction_window(std::uint32_t instructions, std::uint32_t stores)
      : instructions_{instructions}, most_stores_{std::max(1U, stores)} {}

  [[nodiscard]] std::uint64_t instructions() const noexcept { return instructions_; }
  // Changes the sizes: a core's threads divide them. What is in flight beyond them leaves as time goes on.
  void resize(std::uint32_t instructions, std::uint32_t stores) noexcept {
    instructions_ = instructions;
    most_stores_ = std::max(1U, stores);
  }

  // Returns when the instruction of this number enters; the core reaches the instruction at `now`.
  [[nodiscard]] time_ps enter(std::uint64_t number, time_ps now) noexcept {
    while (!loads_.empty() && (loads_.front().number + instructions_ <= number || loads_.front().done <= now)) {
      now = std::max(now, loads_.front().done);
      loads_.pop_front();
    }
    return now;
  }
  // Adds a load of that number, whose bytes arrive at `done`. pre: the load has entered, and numbers do not decrease.
  void add_load(std::uint64_t number, time_ps done) { loads_.push_back({number, done}); }

  // Returns when a store finds room in the buffer.
  [[nodiscard]] time_ps store_room(time_ps now) noexcept {
    while (!stores_.empty() && stores_.front().done <= now) leave();
    for (; stores_.size() >= most_stores_; leave()) now = stores_.front().done;
    return now;
  }
  // Adds a store whose line arrives at `done`. pre: there is room.
  void add_store(std::uint64_t address, std::uint32_t bytes, time_ps done) {
    last_store_ = std::max(last_store_, done);
    stores_.push_back({address, bytes, last_store_});
    ++(bytes > block_bytes ? long_stores_ : count_of(address));
  }
  // Returns whether one store in the buffer holds all of these bytes.
  [[nodiscard]] bool forwards(std::uint64_t address, std::uint32_t bytes) const noexcept {
    if (count_of(address) + count_of(address - block_bytes) + long_stores_ == 0) return false;
    for (std::size_t i = 0; i < stores_.size(); ++i)
      if (const store& s = stores_[i]; s.address <= address && address + bytes <= s.address + s.bytes) return true;
    return false;
  }
  // Returns when all loads and stores in flight at `now` are complete, and removes them.
  [[nodiscard]] time_ps all_done(time_ps now) noexcept {
    for (std::size_t i = 0; i < loads_.size(); ++i) now = std::max(now, loads_[i].done);
    loads_.clear();
    stores_.clear();
    in_block_.fill(0);
    long_stores_ = 0;
    return std::max(now, last_store_);
  }

 private:
  struct load {
    std::uint64_t number;
    time_ps done;
  };
  struct store {
    std::uint64_t address;
    std::uint32_t bytes;
    time_ps done;  // not before `done` of older stores
  };
  // Counts of the stores in the buffer, by the block where a store begins: one that holds a byte begins in the byte's
  // block or in the one before, unless it is longer than a block.
  static constexpr std::uint64_t block_bytes = 64;
  [[nodiscard]] std::uint32_t& count_of(std::uint64_t address) noexcept {
    return in_block_[small_hash(address / block_bytes)];
  }
  [[nodiscard]] std::uint32_t count_of(std::uint64_t address) const noexcept {
    return in_block_[small_hash(address / block_bytes)];
  }
  void leave() noexcept {
    const store& oldest = stores_.front();
    --(oldest.bytes > block_bytes ? long_stores_ : count_of(oldest.address));
    stores_.pop_front();
  }

  std::uint64_t instructions_;
  std::size_t most_stores_;
  ring_queue<load> loads_;                     // loads that may delay the entry of later instructions
  ring_queue<store> stores_;                   // in the buffer
  std::array<std::uint32_t, 256> in_block_{};  // by the blocks' hashes
  std::uint32_t long_stores_ = 0;
  time_ps last_store_ = 0;
};

}  // namespace situ::model
