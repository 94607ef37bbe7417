// The surroundings of a unit of SystemVerilog: `in` and `out` of 16 words a lane, and 64 KiB of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "hw/unit_ports.h"
#include "model/message_units/formats.h"

namespace situ::hw {

using model::cycle;
using words = std::vector<std::uint32_t>;

// A word that the unit has written into `out`, and the cycle in which it did.
struct out_word {
  cycle at;
  std::uint32_t data;
  bool is_last;
};

// The packets of a lane of `out`, each of which ends with a `last` word.
inline std::vector<words> packets(const std::vector<out_word>& out) {
  std::vector<words> all(1);
  for (const out_word& word : out) {
    all.back().push_back(word.data);
    if (word.is_last) all.emplace_back();
  }
  all.pop_back();
  return all;
}

class surroundings {
 public:
  static constexpr std::size_t fifo_places = 16;

  // The cycle that comes next; after reset it is what the timer says.
  [[nodiscard]] cycle now() const noexcept { return now_; }

  // A packet, or the beginning of one, whose words are in `in` from this cycle on, one more in each cycle, if the lane
  // has room.
  void inject(unsigned lane, const words& packet, cycle first, bool ends = true) {
    for (std::size_t i = 0; i < packet.size(); ++i)
      coming_[lane].push_back({first + i, packet[i], ends && i + 1 == packet.size()});
  }

  // The words written into a lane since the last call.
  [[nodiscard]] std::vector<out_word> take_out(unsigned lane) { return std::exchange(written_[lane], {}); }
  [[nodiscard]] bool all_taken(unsigned lane) const { return in_[lane].empty() && coming_[lane].empty(); }

  words memory = words(1U << 14);
  std::array<bool, 2> drains{true, true};  // a word of `out` goes in each cycle
  std::array<std::size_t, 2> most_out{};   // words that were in a lane of `out` at once

 protected:
  void show(unit_inputs& inputs) const {
    for (unsigned lane = 0; lane < 2; ++lane) {
      inputs.out_count[lane] = static_cast<unsigned>(out_[lane].size());
      inputs.in_exists[lane] = !in_[lane].empty();
      if (inputs.in_exists[lane]) inputs.in_data[lane] = in_[lane].front().data;
      if (inputs.in_exists[lane]) inputs.in_last[lane] = in_[lane].front().is_last;
    }
    inputs.memory_word = memory_word_;
  }

  // The cycle ends.
  void change(const unit_outputs& outputs) {
    access_memory(outputs);
    for (unsigned lane = 0; lane < 2; ++lane) {
      move_in(lane, outputs.in_read[lane]);
      move_out(lane, outputs);
    }
    ++now_;
  }

 private:
  void access_memory(const unit_outputs& outputs) {
    std::uint32_t& word = memory.at(outputs.memory_address);
    memory_word_ = word;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const std::uint32_t mask = 0xffU << 8 * byte;
      if ((outputs.memory_enable >> byte & 1U) != 0) word = (word & ~mask) | (outputs.memory_data & mask);
    }
  }

  // A word that comes in this cycle is there in the next one.
  void move_in(unsigned lane, bool read) {
    const bool has_room = in_[lane].size() < fifo_places;
    if (read) in_[lane].pop_front();
    if (coming_[lane].empty() || coming_[lane].front().at > now_ + 1 || !has_room) return;
    in_[lane].push_back(coming_[lane].front());
    coming_[lane].pop_front();
  }

  void move_out(unsigned lane, const unit_outputs& outputs) {
    if (drains[lane] && !out_[lane].empty()) out_[lane].pop_front();
    if (!outputs.out_write[lane]) return;
    written_[lane].push_back({now_, outputs.out_data[lane], outputs.out_last[lane]});
    out_[lane].push_back(outputs.out_data[lane]);
    most_out[lane] = std::max(most_out[lane], out_[lane].size());
  }

  cycle now_ = 0;
  std::uint32_t memory_word_ = 0;
  std::array<std::deque<out_word>, 2> in_, coming_;  // with the cycle from which a word may be there
  std::array<std::deque<std::uint32_t>, 2> out_;
  std::array<std::vector<out_word>, 2> written_;
};

}  // namespace situ::hw
