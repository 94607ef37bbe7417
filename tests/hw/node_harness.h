// One node of SystemVerilog in its surroundings: `in` and `out` of 16 words a lane, and 64 KiB of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "hw/message_node_rtl.h"
#include "model/message_units/formats.h"

namespace situ::hw {

using model::cycle;
using words = std::vector<std::uint32_t>;

// A word that the node has written into `out`, and the cycle in which it did.
struct out_word {
  cycle at;
  std::uint32_t data;
  bool is_last;
};

class node_harness {
 public:
  static constexpr std::size_t fifo_places = 16;

  explicit node_harness(model::node_number self) : node_(self), memory(1U << 14) {}

  // The cycle that comes next; after reset it is what the timer says.
  [[nodiscard]] cycle now() const noexcept { return now_; }

  // A packet, or the beginning of one, whose words are in `in` from this cycle on, one more in each cycle, if the lane
  // has room.
  void inject(unsigned lane, const words& packet, cycle first, bool ends = true) {
    for (std::size_t i = 0; i < packet.size(); ++i)
      coming_[lane].push_back({first + i, packet[i], ends && i + 1 == packet.size()});
  }

  void step() {
    node_inputs inputs;
    for (unsigned lane = 0; lane < 2; ++lane) {
      inputs.out_count[lane] = static_cast<unsigned>(out_[lane].size());
      inputs.in_exists[lane] = !in_[lane].empty();
      if (inputs.in_exists[lane]) inputs.in_data[lane] = in_[lane].front().data;
      if (inputs.in_exists[lane]) inputs.in_last[lane] = in_[lane].front().is_last;
    }
    inputs.memory_word = memory_word_;
    inputs.control_in = control_in;
    state = node_.cycle(inputs);
    access_memory();
    for (unsigned lane = 0; lane < 2; ++lane) move_words(lane);
    ++now_;
  }
  void step_to(cycle end) {
    while (now_ < end) step();
  }

  // The words written into a lane since the last call.
  [[nodiscard]] std::vector<out_word> take_out(unsigned lane) { return std::exchange(written_[lane], {}); }
  [[nodiscard]] bool all_taken(unsigned lane) const { return in_[lane].empty() && coming_[lane].empty(); }

 private:
  struct arrival {
    cycle at;
    std::uint32_t data;
    bool is_last;
  };

  void access_memory() {
    std::uint32_t& word = memory.at(state.memory_address);
    memory_word_ = word;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const std::uint32_t mask = 0xffU << 8 * byte;
      if ((state.memory_enable >> byte & 1U) != 0) word = (word & ~mask) | (state.memory_data & mask);
    }
  }

  // The lane's FIFOs change: a word that comes in this cycle is there in the next one.
  void move_words(unsigned lane) {
    const bool in_has_room = in_[lane].size() < fifo_places;
    if (state.in_read[lane]) in_[lane].pop_front();
    if (!coming_[lane].empty() && coming_[lane].front().at <= now_ + 1 && in_has_room) {
      in_[lane].push_back(coming_[lane].front());
      coming_[lane].pop_front();
    }
    if (drains[lane] && !out_[lane].empty()) out_[lane].pop_front();
    if (!state.out_write[lane]) return;
    written_[lane].push_back({now_, state.out_data[lane], state.out_last[lane]});
    out_[lane].push_back(state.out_data[lane]);
    most_out[lane] = std::max(most_out[lane], out_[lane].size());
  }

  message_node_rtl node_;
  cycle now_ = 0;
  std::uint32_t memory_word_ = 0;
  std::array<std::deque<arrival>, 2> in_, coming_;
  std::array<std::deque<std::uint32_t>, 2> out_;
  std::array<std::vector<out_word>, 2> written_;

 public:
  words memory;
  node_outputs state;  // of the last cycle
  unsigned control_in = 0;
  std::array<bool, 2> drains{true, true};  // a word of `out` goes in each cycle
  std::array<std::size_t, 2> most_out{};
};

}  // namespace situ::hw
