// The ports that a node and GAScore alone have in common: `in`, `out`, the memory. They belong to the caller.
#pragma once

#include <array>
#include <cstdint>

namespace situ::hw {

inline constexpr unsigned request_lane = 0, reply_lane = 1;

// A unit's inputs in a cycle: its surroundings as they are at the cycle's start.
struct unit_inputs {
  std::array<unsigned, 2> out_count{};  // words in a lane of `out`, at most 16
  std::array<bool, 2> in_exists{};      // a lane of `in` holds a word: the oldest one is
  std::array<std::uint32_t, 2> in_data{};
  std::array<bool, 2> in_last{};
  std::uint32_t memory_word = 0;  // the memory's word at the address of the cycle before
};

// Its outputs in that cycle. Its surroundings have changed by them in the next one.
struct unit_outputs {
  std::array<bool, 2> out_write{};  // a word goes into a lane of `out`
  std::array<std::uint32_t, 2> out_data{};
  std::array<bool, 2> out_last{};
  std::array<bool, 2> in_read{};     // the oldest word of a lane of `in` is taken
  std::uint32_t memory_address = 0;  // of words
  unsigned memory_enable = 0;        // a bit for each byte that is written; 0 is a read
  std::uint32_t memory_data = 0;
  unsigned fault = 0;  // at the cycle's start: a number of situ::model::unit_fault; the first one stays
};

}  // namespace situ::hw
