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
// Not thread-safe. cost: constant for each access, and linear in the stores for loads of bytes that are in the buffer.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace situ::model {

class instruction_window {
 public:
  instruction_window(std::uint32_t instructions, std::uint32_t stores)
      : instructions_{instructions}, most_stores_{std::max(1U, stores)} {}

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
    while (!stores_.empty() && stores_.front().done <= now) stores_.pop_front();
    if (stores_.size() < most_stores_) return now;
    now = stores_.front().done;
    stores_.pop_front();
    return now;
  }
  // Adds a store whose line arrives at `done`. pre: there is room.
  void add_store(std::uint64_t address, std::uint32_t bytes, time_ps done) {
    last_store_ = std::max(last_store_, done);
    stores_.push_back({address, bytes, last_store_});
  }
  // Returns whether one store in the buffer holds all of these bytes.
  [[nodiscard]] bool forwards(std::uint64_t address, std::uint32_t bytes) const noexcept {
    return std::ranges::any_of(
        stores_, [&](const store& s) { return s.address <= address && address + bytes <= s.address + s.bytes; });
  }
  // Returns when all loads and stores in flight at `now` are complete, and removes them.
  [[nodiscard]] time_ps all_done(time_ps now) noexcept {
    for (const load& l : loads_) now = std::max(now, l.done);
    loads_.clear();
    stores_.clear();
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
  std::uint64_t instructions_;
  std::size_t most_stores_;
  std::deque<load> loads_;    // loads that may delay the entry of later instructions
  std::deque<store> stores_;  // in the buffer
  time_ps last_store_ = 0;
};

}  // namespace situ::model
