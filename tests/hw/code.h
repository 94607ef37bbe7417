// Programs of PAMS word by word, and packets that bring them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "model/message_units/formats.h"

namespace situ::hw {

using model::pams_argument;
using model::pams_operation;

struct argument {
  pams_argument kind = pams_argument::code;
  std::uint32_t value = 0;
};
inline constexpr argument timer{pams_argument::timer}, arrival_time{pams_argument::arrival_time};

class code {
 public:
  std::vector<std::uint32_t> words;

  code& timer_threshold(std::uint32_t threshold) { return word(pams_operation::timer_threshold).raw(threshold); }
  code& timer_offset(std::uint32_t offset) { return word(pams_operation::timer_offset).raw(offset); }
  code& message_counter(unsigned which, std::uint8_t handler, std::uint32_t threshold, bool keeps = false) {
    return word(pams_operation::message_counter, counter(which, handler, keeps)).raw(threshold);
  }
  code& transfer_counter(unsigned which, std::uint8_t handler, std::uint32_t bytes, bool keeps = false) {
    return word(pams_operation::transfer_counter, counter(which, handler, keeps)).raw(bytes);
  }
  code& expect_messages(unsigned which, std::uint32_t more) {
    return word(pams_operation::expect_messages, which << 26).raw(more);
  }
  code& expect_bytes(unsigned which, std::uint32_t more) {
    return word(pams_operation::expect_bytes, which << 26).raw(more);
  }
  code& wait(std::uint32_t conditions) { return word(pams_operation::wait, conditions); }
  code& control(unsigned clear, unsigned set) { return word(pams_operation::control, clear << 8 | set); }
  code& jump(std::uint32_t address) { return word(pams_operation::jump, address); }
  code& halt() { return word(pams_operation::halt); }
  code& send(std::uint8_t handler, model::node_number node, std::initializer_list<argument> arguments = {}) {
    return request(pams_operation::send, handler, node, {}, arguments);
  }
  code& send_long(std::uint8_t handler, model::node_number node, std::uint32_t at, std::uint32_t bytes,
                  std::uint32_t from, std::initializer_list<argument> arguments = {}) {
    return request(pams_operation::send_long, handler, node, {at, bytes, from}, arguments);
  }
  code& reply(std::uint8_t handler, std::initializer_list<argument> arguments = {}) {
    return request(pams_operation::reply, handler, 0, {}, arguments);
  }
  code& reply_long(std::uint8_t handler, std::uint32_t at, std::uint32_t bytes, std::uint32_t from) {
    return request(pams_operation::reply_long, handler, 0, {at, bytes, from}, {});
  }
  code& raw(std::uint32_t word) {
    words.push_back(word);
    return *this;
  }

 private:
  static std::uint32_t counter(unsigned which, std::uint8_t handler, bool keeps) {
    return which << 26 | std::uint32_t{keeps} << 25 | handler;
  }
  code& word(pams_operation operation, std::uint32_t fields = 0) {
    return raw(static_cast<std::uint32_t>(operation) << 28 | fields);
  }
  code& request(pams_operation operation, std::uint8_t handler, model::node_number node,
                std::initializer_list<std::uint32_t> place, std::initializer_list<argument> arguments) {
    std::uint32_t fields = std::uint32_t{node} << 18 | static_cast<std::uint32_t>(arguments.size()) << 16 | handler;
    unsigned bit = 10;
    for (const argument& each : arguments) {
      fields |= static_cast<std::uint32_t>(each.kind) << bit;
      bit += 2;
    }
    word(operation, fields);
    words.insert(words.end(), place);
    for (const argument& each : arguments)
      if (each.kind == pams_argument::code) raw(each.value);
    return *this;
  }
};

// A packet of a short message.
inline std::vector<std::uint32_t> short_packet(model::node_number to, model::node_number from, std::uint8_t handler,
                                               const std::vector<std::uint32_t>& arguments = {}, bool replies = false) {
  std::vector<std::uint32_t> packet{
      model::packet_head(to, from),
      model::message_kind::word(handler, static_cast<unsigned>(arguments.size()), false, replies), 0, 0};
  packet.insert(packet.end(), arguments.begin(), arguments.end());
  return packet;
}

inline std::vector<std::uint32_t> long_packet(model::node_number to, model::node_number from, std::uint8_t handler,
                                              std::uint32_t at, std::uint32_t bytes,
                                              const std::vector<std::uint32_t>& payload, bool replies = false) {
  std::vector<std::uint32_t> packet{model::packet_head(to, from), model::message_kind::word(handler, 0, true, replies),
                                    at, bytes};
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

}  // namespace situ::hw
