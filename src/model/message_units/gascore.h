// GAScore: sends and receives active messages for a node. docs/design/message_units.md has the states, and a message
// worked out cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/message_units/node_ports.h"
#include "model/message_units/token_buffer.h"

namespace situ::model {

class gascore {
 public:
  explicit gascore(unsigned tokens = token_buffer::usual_entries) : tokens_{tokens} {}
  // Carries out a cycle. Returns whether anything changed, or is under way.
  bool step(cycle now, node_ports& node);
  [[nodiscard]] unsigned tokens_in_use() const noexcept { return tokens_.in_use(); }
  [[nodiscard]] unsigned most_tokens() const noexcept { return most_tokens_; }
  // Returns whether no message is on its way through it.
  [[nodiscard]] bool is_idle() const noexcept;
  // Returns what it waits for, for the report of a standstill; "" if it is idle.
  [[nodiscard]] std::string where() const;

 private:
  enum class transmit_state : std::uint8_t { kind, node, at, bytes, tail, from, read, arguments };
  struct transmit {
    transmit_state state = transmit_state::kind;
    std::uint32_t kind = 0;
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
    std::uint32_t from = 0;     // of the next word that the bus grants
    std::uint32_t to_ask = 0;   // words
    std::uint32_t to_send = 0;  // words
    std::uint32_t asked = 0;    // asked for and not yet written into `out`
    unsigned arguments = 0;     // to come
  };
  enum class receive_state : std::uint8_t { head, kind, at, bytes, tail, fill, call, arguments };
  struct receive {
    receive_state state = receive_state::head;
    unsigned from = 0;  // the lane of the message
    std::uint32_t kind = 0;
    std::uint32_t token = 0;
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
    std::uint32_t to_fill = 0;  // words
    std::uint32_t written = 0;  // words
    std::uint32_t write_at = 0;
    unsigned arguments = 0;
    unsigned call_word = 0;
    std::array<std::uint32_t, 4> queue{};  // words on their way to the memory
    unsigned queue_first = 0;
    unsigned queued = 0;
    unsigned unasked = 0;  // of these, those for which the bus was not asked
  };
  enum class access : std::uint8_t { none, read, write };
  struct bus_stage {
    access what = access::none;
    std::uint8_t of = 0;      // the lane of the transmit that reads
    std::uint16_t bytes = 0;  // of the word that are written
    std::uint32_t at = 0;
    std::uint32_t word = 0;
  };
  // The state of a cycle's start that several parts of the step need.
  struct start {
    bus_stage output;
    std::uint32_t written = 0;
    unsigned queued = 0;
    bool call_room = false;
  };

  [[nodiscard]] bool is_bus_busy() const noexcept;
  bool step_bus(cycle now, node_ports& node);
  void grant(node_ports& node);
  [[nodiscard]] bus_stage ask(cycle now, const node_ports& node);
  bool step_transmit(unsigned of, const bus_stage& output, cycle now, node_ports& node);
  bool send_fixed(transmit& tx, unsigned of, cycle now, node_ports& node);
  bool send_node(unsigned of, std::uint32_t word, cycle now, node_ports& node);
  void end_fixed(transmit& tx, unsigned of, cycle now, node_ports& node);
  void end_message(transmit& tx, unsigned of, cycle now, node_ports& node);
  bool step_receive(const start& begun, cycle now, node_ports& node);
  bool receive_head(cycle now, node_ports& node);
  bool receive_fixed(const start& begun, cycle now, node_ports& node);
  bool receive_fill(const start& begun, cycle now, node_ports& node);
  bool receive_arguments(const start& begun, cycle now, node_ports& node);
  bool make_call(const start& begun, cycle now, node_ports& node);
  void call(std::uint32_t word) noexcept {
    call_ = word;
    has_call_ = true;
  }

  std::array<transmit, lanes> transmits_;
  receive receive_;
  token_buffer tokens_;
  unsigned most_tokens_ = 0;
  bool wrote_last_ = true;  // the bus granted a write before; at reset it counts as one
  bus_stage granted_, port_, latch_, output_;
  unsigned stages_ = 0;     // of these, those that hold something
  std::uint32_t call_ = 0;  // the register before FSL 1
  bool has_call_ = false;
};

}  // namespace situ::model
