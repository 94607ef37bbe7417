// The words of GAScore and PAMS: requests, packets, calls, instructions. docs/formats/pams.md has the tables.
//
// A message is four fixed words, then its arguments; a long one has its bytes besides. The order is the same everywhere:
//
//   request (FSL 3)   kind   node or token   at   bytes   [from]      arguments
//   packet (network)  head   kind            at   bytes   [payload]   arguments
//   call (FSL 1)      kind   token           at   bytes               arguments
//
// `at` and `bytes` of a short message are zero. These formats are ours: the paper gives none.
#pragma once

#include <cstdint>

namespace situ::model {

using cycle = std::uint64_t;
using node_number = std::uint16_t;

// Requests and replies never wait for each other: each FIFO has a lane for either.
enum class lane : std::uint8_t { request, reply };
inline constexpr unsigned lanes = 2;

// The kind of a message, its first word.
struct message_kind {
  static constexpr std::uint32_t is_long = 1U << 31, is_reply = 1U << 30;
  static constexpr unsigned most_arguments = 15;

  [[nodiscard]] static constexpr std::uint32_t word(std::uint8_t handler, unsigned arguments, bool carries_data,
                                                    bool replies) noexcept {
    return (carries_data ? is_long : 0U) | (replies ? is_reply : 0U) | arguments << 24 | handler;
  }
  [[nodiscard]] static constexpr unsigned arguments(std::uint32_t kind) noexcept { return kind >> 24 & 15U; }
  [[nodiscard]] static constexpr std::uint8_t handler(std::uint32_t kind) noexcept {
    return static_cast<std::uint8_t>(kind);
  }
};

// The second word of a reply: the token, and whether the handler is done, which frees the token.
struct token_word {
  static constexpr std::uint32_t is_done = 1U << 31;
  static constexpr std::uint32_t token = 0xff;
};

[[nodiscard]] constexpr std::uint32_t packet_head(node_number to, node_number from) noexcept {
  return std::uint32_t{to} << 16 | from;
}
[[nodiscard]] constexpr node_number destination(std::uint32_t head) noexcept {
  return static_cast<node_number>(head >> 16);
}
[[nodiscard]] constexpr node_number source(std::uint32_t head) noexcept { return static_cast<node_number>(head); }

[[nodiscard]] constexpr std::uint32_t words_of(std::uint32_t bytes) noexcept {
  return bytes / 4 + (bytes % 4 != 0 ? 1 : 0);
}

// Handler codes that PAMS carries out itself. LOAD: an address of the instruction RAM, then words. START: an address.
// POLL counts like a program's own, but ArrivalTime stays.
inline constexpr std::uint8_t handler_load = 0xf0, handler_start = 0xf1, handler_poll = 0xf2;

// Instructions: the operation in bits 31:28.
enum class pams_operation : std::uint8_t {
  halt,
  timer_threshold,   // then a word: the threshold
  timer_offset,      // then a word, added to the timer
  message_counter,   // 27:26 which, 25 keeps tokens, 7:0 handler; then a word: the threshold. Clears the count
  transfer_counter,  // the same, of bytes
  expect_messages,   // 27:26 which; then a word, added to the threshold (ours)
  expect_bytes,      // the same, of a transfer counter (ours)
  wait,              // 13:0 conditions, all of which must hold
  control,           // 11:8 outputs to clear, 3:0 outputs to set
  send,              // 27:18 node, 17:16 arguments, 15:10 what they are, 7:0 handler; then the arguments from code
  send_long,         // the same; before the arguments three words: at, bytes, from
  reply,             // as send, to whoever sent the oldest call whose token was kept (ours)
  reply_long,        // as send_long, likewise (ours)
  jump,              // 8:0 an address (ours)
};
inline constexpr unsigned pams_operations = 14;
inline constexpr std::uint32_t pams_words = 512;  // one BRAM18
inline constexpr unsigned pams_counters = 4;      // of messages; as many of transfers
inline constexpr unsigned pams_controls = 4;      // inputs; as many outputs
inline constexpr unsigned pams_most_arguments = 3;

// Conditions of a wait.
inline constexpr std::uint32_t on_timer = 1, on_message_0 = 1 << 1, on_transfer_0 = 1 << 5, on_control_0 = 1 << 9,
                               on_sent = 1 << 13;

// The source of a request's argument: bits 11:10 say that of the first one, 13:12 of the second, 15:14 of the third.
enum class pams_argument : std::uint8_t { code, timer, arrival_time };

// The reason why a unit cannot go on. A fault stops the run; the report names the node, the reason and the word.
enum class unit_fault : std::uint8_t {
  none,
  outside_memory,       // a long message reads or writes past the end of the memory, or not at a word
  unknown_token,        // returned, or replied to, but not in use
  nothing_to_answer,    // a reply of PAMS, which keeps no token
  handler_not_counted,  // a call whose handler no counter counts
  outside_program,      // LOAD or START past word 511, or the program runs past it
  unknown_instruction,
  unknown_node,  // a packet for a node that the network does not have
};

}  // namespace situ::model
