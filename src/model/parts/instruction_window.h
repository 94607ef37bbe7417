// What lets a core go on past a miss: it has up to `instructions` of them under way, which leave in their order, and a
// buffer of stores that wait for their lines.
//
// An instruction enters when all that are `instructions` older have left: so a load that takes long stops the core not
// at once, but that many instructions later. Stores leave the window at once, and the buffer in their order, each when
// its line is there; a store that finds the buffer full waits for the oldest. A load of bytes that a store in the
// buffer holds has them from there.
//
// Worked example (a window of 100 instructions, one a ns): a load at instruction 0 that takes 300 ns; instruction 50
// enters at 50 ns, and its load, of 300 ns too, is there at 350; instruction 100 enters at 300 ns, and 150 at 350.
//
// Not thread-safe. cost: constant for each access, and linear in the stores for loads of bytes that are on their way.
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

  // When the instruction with this number enters, which the core has at `now`.
  [[nodiscard]] time_ps enter(std::uint64_t number, time_ps now) noexcept {
    while (!loads_.empty() && (loads_.front().number + instructions_ <= number || loads_.front().done <= now)) {
      now = std::max(now, loads_.front().done);
      loads_.pop_front();
    }
    return now;
  }
  // A load of that number has its bytes at `done`. pre: it has entered, and numbers do not fall.
  void add_load(std::uint64_t number, time_ps done) { loads_.push_back({number, done}); }

  // When a store finds room in the buffer.
  [[nodiscard]] time_ps store_room(time_ps now) noexcept {
    while (!stores_.empty() && stores_.front().done <= now) stores_.pop_front();
    if (stores_.size() < most_stores_) return now;
    now = stores_.front().done;
    stores_.pop_front();
    return now;
  }
  // pre: there is room; `done`: when its line is there.
  void add_store(std::uint64_t address, std::uint32_t bytes, time_ps done) {
    last_store_ = std::max(last_store_, done);
    stores_.push_back({address, bytes, last_store_});
  }
  // Whether a store that waits holds all of these bytes.
  [[nodiscard]] bool forwards(std::uint64_t address, std::uint32_t bytes) const noexcept {
    return std::ranges::any_of(
        stores_, [&](const store& s) { return s.address <= address && address + bytes <= s.address + s.bytes; });
  }
  // When all that is under way at `now` is over.
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
    time_ps done;  // not before those of older ones
  };
  std::uint64_t instructions_;
  std::size_t most_stores_;
  std::deque<load> loads_;    // that took long
  std::deque<store> stores_;  // in the buffer
  time_ps last_store_ = 0;
};

}  // namespace situ::model
