// Lines that one core takes from another, and the order of the hits on them.
//
// A hit in a core's first cache is counted ahead of the order of time, by up to a quantum. This is right unless another
// core takes the line at an earlier time: then the core should have missed. So
//   1. each hit notes its time in `last_touch`, at the slot of its line;
//   2. when a core takes a line at a time `now`, and a hit has touched the line later than `now`, the hit was *ahead*,
//      and may have hidden a miss. From then on the line is *kept in order*: its slots hold `in_order`, so that the
//      hooks ask the engine, and a hit waits for its turn and looks whether the line is still there;
//   3. a line that no core has taken during `limit` hits in order, all of them after the hit ahead, is released. Its
//      limit doubles each time it is kept: so the number of hits ahead grows with the logarithm of the accesses, not
//      with their number;
//   4. since a thread began, or a hit was last found ahead, a core runs ahead by at most a part of the time
//      (engine::lead()): so few hits are ahead when a line is found, and lines that are found one after the other hide
//      little.
//
// The time that is hidden at most: a hit ahead should have missed only if another core accessed the line since the hit
// before it. The first such access is the one that finds the line; the others are seen, since the line is kept from
// then on, and each of them may be a miss itself that is taken for a hit. So an access that finds a line counts as one
// transfer, and each further access until the time of the last hit ahead as two. The hits ahead have also read what the
// line held before: so the time from the access that finds the line to the last of them counts, too.
//
// Worked, two cores that each add to their word of one line, a hit of 1 ns, a transfer of 13 ns: core 0 reads and
// writes from 0 to 36 ns ahead, all of them hits but the first. Core 1 takes the line at 20 ns: last_touch is 36. Until
// then core 1 makes 4 accesses, which could hide (1 + 2 * 4) * 13 + 16 ns. From then on both wait for their turn before
// each access, and each finds the line gone.
//
// Slots are shared by all lines of equal low bits: a line in the slot of a line that is kept takes the slow way, with
// the same result, and its touches are noted elsewhere. Everything depends on modelled addresses and times
// alone, so runs stay the same. Not thread-safe. cost: a hit pays for a comparison and a store.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/parts/time.h"

namespace situ::model {

struct core;

inline constexpr std::size_t touch_slots = std::size_t{1} << 16;
inline constexpr time_ps in_order = no_time;
// The end of the last hit on a line of each slot, or `in_order`.
extern constinit std::array<time_ps, touch_slots> last_touch;
[[nodiscard]] inline time_ps& last_touch_of(std::uintptr_t line) noexcept {
  return last_touch[line & (touch_slots - 1)];
}

struct sharing_figures {
  std::uint64_t lines_taken = 0;       // lines that a core has taken from another, or the right to write them
  std::uint64_t lines_in_order = 0;    // lines of these that were kept in order
  std::uint64_t taken_ahead = 0;       // how often a line was taken from a core that had touched it ahead
  std::uint64_t hidden_transfers = 0;  // at most so many misses were taken for hits
  std::uint64_t lost_in_order = 0;     // hits in order whose line was gone at their turn
  time_ps hidden_ps = 0;               // time of these transfers, if nothing else is under way, and of what was ahead
};

class shared_lines {
 public:
  // Sets the cores' line sizes, as shifts. Call it once.
  void set_line_shifts(const std::vector<std::uint32_t>& shifts);
  // Makes the hooks ask for each hit, of any line.
  void ask_for_all() noexcept;

  // Returns whether the line of this address is kept in order.
  [[nodiscard]] bool keeps(std::uintptr_t address) const;
  // Notes a hit that was not in order, on a line whose slot holds `in_order`.
  void touch(std::uintptr_t line, time_ps end);
  // Notes any other access, before the machine makes it.
  void access(std::uintptr_t address, time_ps now) {
    if (now <= ahead_until_) [[unlikely]]
      access_since(address, now);
  }
  // Notes a hit in order on a line that is kept, and one that lost its line while it waited for its turn.
  void hit_in_order(std::uintptr_t address, time_ps now);
  void lost_in_order(std::uintptr_t address);

  // Notes that another core takes the line, or the right to write it, from this core at `now`. `transfer`: the time of
  // a line's way from one core to the other. Returns whether a hit was ahead.
  bool take(const core& from, std::uintptr_t address, time_ps now, time_ps transfer);

  [[nodiscard]] const sharing_figures& figures() const noexcept { return counted_; }

 private:
  struct line_state {
    bool was_kept = false;
    bool is_kept = false;
    std::uint32_t limit = 0;  // hits in order without a loss, after which the line is released
    std::uint32_t hits = 0;   // such hits so far
    time_ps ahead_until = 0;  // time of the last hit that was ahead
    time_ps transfer = 0;
  };
  void access_since(std::uintptr_t address, time_ps now);
  void hide(std::uint64_t transfers, time_ps each) noexcept;
  template <class F>
  void each_slot(std::uintptr_t granule, F&& f);
  void keep(std::uintptr_t granule, line_state& line);
  void release(std::uintptr_t granule, line_state& line);

  std::unordered_map<std::uintptr_t, line_state> lines_;  // lines that were taken, by granule
  std::vector<std::uint32_t> shifts_;                     // the cores' line sizes; each once
  std::uint32_t granule_shift_ = 6;                       // of the longest line
  bool asks_for_all_ = false;
  time_ps ahead_until_ = 0;  // time of the last hit that was ahead, on any line
  sharing_figures counted_;
};

}  // namespace situ::model
