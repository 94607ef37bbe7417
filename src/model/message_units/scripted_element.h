// A computing element that writes messages word by word, as it is told, and answers calls by a function: a core behind
// the FSLs, without a time of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/message_units/node_ports.h"

namespace situ::model {

struct request_message {
  std::uint8_t handler = 0;
  std::uint32_t to = 0;  // a node; of a reply the token
  std::vector<std::uint32_t> arguments;
  bool is_reply = false;
  bool is_long = false;
  std::uint32_t at = 0, bytes = 0, from = 0;  // of a long one

  // Returns the words of FSL 3.
  [[nodiscard]] std::vector<std::uint32_t> words() const;
};

struct received_call {
  cycle when = 0;  // its last word was taken
  std::uint32_t kind = 0;
  std::uint32_t token = 0;
  std::uint32_t at = 0;
  std::uint32_t bytes = 0;
  std::vector<std::uint32_t> arguments;
};

class scripted_element final : public computing_element {
 public:
  // Called with each call; returns messages, of which one at most is a reply.
  using handler = std::function<std::vector<request_message>(const received_call&)>;

  explicit scripted_element(handler handles = {}) : handles_{std::move(handles)} {}
  // Writes the message when those before it are written, from cycle `when` on.
  void send(request_message message, cycle when = 0);
  // Keeps the tokens of calls from now on, until return_tokens().
  void hold_tokens() noexcept { holds_tokens_ = true; }
  void return_tokens() noexcept { holds_tokens_ = false; }
  [[nodiscard]] const std::vector<received_call>& calls() const noexcept { return calls_; }
  [[nodiscard]] unsigned sent() const noexcept { return sent_; }

  bool step(cycle now, node_ports& node) override;
  [[nodiscard]] cycle wakes_at() const noexcept override;
  [[nodiscard]] bool is_done() const noexcept override;
  [[nodiscard]] std::string where() const override;

 private:
  struct waiting_words {
    cycle when = 0;
    std::vector<std::uint32_t> words;
  };
  bool write(unsigned of, cycle now, node_ports& node);
  void take_word(std::uint32_t word, cycle now);
  void finish_call();

  handler handles_;
  std::array<std::deque<waiting_words>, lanes> waiting_;
  std::array<std::size_t, lanes> written_{};
  std::deque<std::uint32_t> tokens_;
  bool holds_tokens_ = false;
  unsigned call_words_ = 0;
  received_call call_;
  std::vector<received_call> calls_;
  unsigned sent_ = 0;
};

}  // namespace situ::model
