// PAMS: a sequencer that sends active messages and counts those that arrive. docs/design/message_units.md has its
// states, docs/formats/pams.md its instructions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/message_units/node_ports.h"

namespace situ::model {

class pams_unit final : public computing_element {
 public:
  struct counter {
    static constexpr std::uint32_t no_handler = 256;
    std::uint32_t handler = no_handler;
    std::uint32_t count = 0;  // messages, or bytes
    std::uint32_t threshold = 0;
    bool keeps_tokens = false;
    [[nodiscard]] bool is_reached() const noexcept { return count >= threshold; }
  };

  bool step(cycle now, node_ports& node) override;
  [[nodiscard]] cycle wakes_at() const noexcept override;
  [[nodiscard]] bool is_done() const noexcept override { return state_ == state::idle; }
  [[nodiscard]] std::string where() const override;

  [[nodiscard]] bool was_started() const noexcept { return was_started_; }
  [[nodiscard]] std::uint32_t pc() const noexcept { return pc_; }
  [[nodiscard]] std::uint32_t arrival_time() const noexcept override { return arrival_time_; }
  [[nodiscard]] const counter& messages(unsigned which) const noexcept { return messages_[which]; }
  [[nodiscard]] const counter& transfers(unsigned which) const noexcept { return transfers_[which]; }

 private:
  enum class state : std::uint8_t { idle, fetch, execute, operand, wait, words };

  bool step_sequencer(cycle now, node_ports& node);
  void execute(node_ports& node);
  void begin_request(node_ports& node);
  void take_operand(std::uint32_t word);
  bool write_request(cycle now, node_ports& node);
  [[nodiscard]] std::uint32_t request_word(node_ports& node);
  [[nodiscard]] std::uint32_t code_word(node_ports& node);
  [[nodiscard]] bool holds(std::uint32_t conditions, const node_ports& node) const noexcept;
  bool step_calls(cycle now, node_ports& node);
  void count_call(cycle now, node_ports& node);
  void take_call_word(std::uint32_t word, node_ports& node);
  void take_load_word(std::uint32_t word, node_ports& node);
  [[nodiscard]] std::string conditions_text() const;

  // the sequencer
  std::array<std::uint32_t, pams_words> ram_{};
  state state_ = state::idle;
  std::uint32_t pc_ = 0;
  std::uint32_t instruction_ = 0;
  unsigned step_ = 0;        // of a request: the word that comes next
  std::uint32_t token_ = 0;  // of a reply
  bool was_started_ = false;
  // the timer
  std::uint32_t timer_ = 0;  // in this cycle
  std::uint32_t offset_ = 0;
  std::uint32_t threshold_ = 0;
  std::uint32_t arrival_time_ = 0;
  cycle stepped_at_ = 0;
  // counters; those that the sequencer sets in this cycle lose a call
  std::array<counter, pams_counters> messages_;
  std::array<counter, pams_counters> transfers_;
  unsigned messages_set_ = 0;
  unsigned transfers_set_ = 0;
  unsigned unsent_ = 0;
  // the call that comes in
  unsigned call_words_ = 0;  // taken
  std::uint32_t kind_ = 0;
  std::uint32_t call_token_ = 0;
  std::uint32_t call_bytes_ = 0;
  std::uint32_t first_argument_ = 0;
  bool call_is_whole_ = false;
  std::uint32_t load_at_ = 0;
  bool has_load_ = false;  // a word for the instruction RAM, taken in the cycle before
  std::uint32_t load_word_ = 0;
  // tokens of calls that the program answers
  std::array<std::uint32_t, 16> kept_{};
  unsigned kept_first_ = 0;
  unsigned kept_count_ = 0;
};

}  // namespace situ::model
