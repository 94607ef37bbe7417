// Instructions of PAMS, taken apart: their words, their text, and the checks of their numbers. The builder, the
// assembler and the disassembler share this encoder. Values without state; thread-safe.
//
// docs/formats/pams.md has the words bit by bit, formats.h the operations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/message_units/formats.h"

namespace situ::model {

inline constexpr std::array<std::string_view, pams_operations> pams_names{"halt",
                                                                          "timer_threshold",
                                                                          "timer_offset",
                                                                          "message_counter",
                                                                          "transfer_counter",
                                                                          "expect_messages",
                                                                          "expect_bytes",
                                                                          "wait",
                                                                          "control",
                                                                          "send",
                                                                          "send_long",
                                                                          "reply",
                                                                          "reply_long",
                                                                          "jump"};

// The numbers that a field takes.
struct pams_range {
  std::string_view what;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::int64_t multiple_of = 1;
};
namespace pams_ranges {
inline constexpr std::int64_t most = 0xffffffff;
inline constexpr pams_range node{"node", 0, 1023};
inline constexpr pams_range handler{"handler", 0, 255};
inline constexpr pams_range counter{"counter", 0, pams_counters - 1};
inline constexpr pams_range input{"control input", 0, pams_controls - 1};
inline constexpr pams_range output{"control output", 0, pams_controls - 1};
inline constexpr pams_range cycles{"timer threshold", 0, most};
inline constexpr pams_range offset{"timer offset", -0x80000000LL, 0x7fffffff};
inline constexpr pams_range messages{"number of messages", 0, most};
inline constexpr pams_range counted_bytes{"number of counted bytes", 0, most};
inline constexpr pams_range address{"address in memory", 0, most - 3, 4};
inline constexpr pams_range bytes{"number of bytes", 0, 65536};
inline constexpr pams_range argument{"argument", 0, most};
inline constexpr pams_range place{"word of the program", 0, pams_words - 1};
inline constexpr pams_range word{"word", 0, most};
}  // namespace pams_ranges

// Returns a sentence with the mistake and the allowed range; empty if the number is right. written: the number in the
// message; empty: in decimal.
[[nodiscard]] std::string pams_problem_of(const pams_range& range, std::int64_t number, std::string_view written = {});
// Checks a handler that a counter is to count.
[[nodiscard]] std::string pams_problem_of_counted(std::int64_t handler);
// Returns the allowed numbers: "0 to 1023".
[[nodiscard]] std::string pams_range_text(const pams_range& range);

// The fields of an instruction; those that an operation does not have are 0.
struct pams_instruction {
  pams_operation operation = pams_operation::halt;
  std::uint32_t counter = 0;
  bool keeps = false;
  std::uint32_t handler = 0;
  std::uint32_t node = 0;
  std::uint32_t set = 0, clear = 0;           // outputs, as bits
  std::uint32_t value = 0;                    // the operand; conditions; a jump's address
  std::uint32_t at = 0, bytes = 0, from = 0;  // of a long message
  std::uint32_t arguments = 0;                // how many
  std::array<pams_argument, pams_most_arguments> kinds{};
  std::array<std::uint32_t, pams_most_arguments> values{};  // of arguments from code

  bool operator==(const pams_instruction&) const = default;
};

[[nodiscard]] constexpr bool is_request(pams_operation operation) noexcept {
  return operation >= pams_operation::send && operation <= pams_operation::reply_long;
}
[[nodiscard]] constexpr bool is_long_request(pams_operation operation) noexcept {
  return operation == pams_operation::send_long || operation == pams_operation::reply_long;
}
[[nodiscard]] constexpr bool goes_to_node(pams_operation operation) noexcept {
  return operation == pams_operation::send || operation == pams_operation::send_long;
}
[[nodiscard]] constexpr bool sets_counter(pams_operation operation) noexcept {
  return operation == pams_operation::message_counter || operation == pams_operation::transfer_counter;
}
[[nodiscard]] constexpr bool has_operand(pams_operation operation) noexcept {
  return operation >= pams_operation::timer_threshold && operation <= pams_operation::expect_bytes;
}

// Returns a sentence with the mistake of an instruction; empty if it can be encoded.
[[nodiscard]] std::string pams_problem_of(const pams_instruction& instruction);
// Returns the instruction's words. pre: nothing is wrong with it.
[[nodiscard]] std::vector<std::uint32_t> encode_pams(const pams_instruction& instruction);
// Returns the instruction that these words begin with; nullopt if it is unknown, has reserved bits or a number that is
// not allowed, or is longer than the words.
[[nodiscard]] std::optional<pams_instruction> decode_pams(std::span<const std::uint32_t> words);

// Returns the arguments of the LOAD messages that write these words from word `first` on, also past the instruction RAM.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> pams_load_arguments(std::span<const std::uint32_t> words,
                                                                          std::uint32_t first);

// Names to write in place of numbers; empty: the number.
struct pams_symbols {
  std::string_view node, handler, label;
};
// Returns the instruction as a line of assembly text. pre: nothing is wrong with it.
[[nodiscard]] std::string pams_text_of(const pams_instruction& instruction, const pams_symbols& symbols = {});

}  // namespace situ::model
