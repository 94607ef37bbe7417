// The cycles of a message, each with the unit and the state that it belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace situ::studies::gascore {

// A message's time is a chain of states: each acts in the cycle after the one before, with the word that came from
// there. A unit's other states, and those of words that follow, go on beside the chain.
struct chain_state {
  enum class side : std::uint8_t { sender, network, receiver };
  side of;
  std::string_view unit, state;
  bool is_observed;                 // a unit of a node tells it; else it is a rule of docs/design/message_units.md
  std::uint32_t in_short, in_long;  // cycles: of a short message and of a long one of a word, on one chip
  std::uint32_t a_hop;              // more for each hop
};

inline constexpr std::array chain_states{
    chain_state{chain_state::side::sender, "PAMS", "WAIT", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "PAMS", "FETCH", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "PAMS", "EXECUTE", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "PAMS", "WORDS", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "KIND", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "NODE", true, 1, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "AT", true, 0, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "BYTES", true, 0, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "FROM", true, 0, 1, 0},
    chain_state{chain_state::side::sender, "memory bus", "ASK", true, 0, 1, 0},
    chain_state{chain_state::side::sender, "memory bus", "GRANT", false, 0, 1, 0},
    chain_state{chain_state::side::sender, "memory bus", "READ", true, 0, 1, 0},
    chain_state{chain_state::side::sender, "memory bus", "FETCH", false, 0, 1, 0},
    chain_state{chain_state::side::sender, "transmit", "SEND", true, 0, 1, 0},
    chain_state{chain_state::side::network, "NetIf", "ROUTE", false, 1, 1, 1},
    chain_state{chain_state::side::network, "NetIf", "PASS", false, 1, 1, 1},
    chain_state{chain_state::side::network, "NetIf", "MUX", false, 1, 1, 1},
    chain_state{chain_state::side::network, "NetIf", "DELIVER", false, 1, 1, 1},
    chain_state{chain_state::side::network, "link", "OUT", false, 0, 0, 1},
    chain_state{chain_state::side::network, "link", "WIRE", false, 0, 0, 1},
    chain_state{chain_state::side::network, "link", "IN", false, 0, 0, 1},
    chain_state{chain_state::side::receiver, "receive", "HEAD", true, 1, 0, 0},
    chain_state{chain_state::side::receiver, "receive", "KIND", true, 1, 0, 0},
    chain_state{chain_state::side::receiver, "receive", "AT", true, 1, 0, 0},
    chain_state{chain_state::side::receiver, "receive", "BYTES", true, 1, 0, 0},
    chain_state{chain_state::side::receiver, "receive", "TAIL", true, 1, 0, 0},
    chain_state{chain_state::side::receiver, "receive", "FILL", true, 0, 1, 0},
    chain_state{chain_state::side::receiver, "memory bus", "ASK", true, 0, 1, 0},
    chain_state{chain_state::side::receiver, "memory bus", "GRANT", false, 0, 1, 0},
    chain_state{chain_state::side::receiver, "memory bus", "WRITE", true, 0, 1, 0},
    chain_state{chain_state::side::receiver, "receive", "WRITTEN", true, 0, 1, 0},
    chain_state{chain_state::side::receiver, "receive", "CALL", true, 0, 4, 0},
    chain_state{chain_state::side::receiver, "receive", "register to FSL 1", false, 1, 1, 0},
    chain_state{chain_state::side::receiver, "PAMS", "last word of the call", false, 1, 1, 0}};

struct chain_cycles {
  std::array<std::uint32_t, chain_states.size()> of{};  // each state's cycles
  std::uint32_t sum = 0;
};
// Sends one message and compares: each observed state must act in its cycles of the chain, and the sum must be the
// measured time. Throws situ::error with the first state for which that is not so.
[[nodiscard]] chain_cycles check_chain(unsigned distance, bool is_long);

}  // namespace situ::studies::gascore
