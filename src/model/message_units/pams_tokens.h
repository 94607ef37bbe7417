// Words of PAMS's assembly language: tokens of a line, numbers, names, and the mistakes in them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

struct pams_token {
  std::string_view text;
  std::uint32_t column = 0;  // from 1, in bytes
};
// Returns the tokens of a line, without its comment.
[[nodiscard]] std::vector<pams_token> pams_tokens_of(std::string_view line);

// Reads a number: decimal or 0x, with single _ between digits, and perhaps a minus before it. Returns nullopt if it is
// none. A number of more than 40 bits becomes 2^40 (or -2^40), which no field takes.
[[nodiscard]] std::optional<std::int64_t> pams_number(std::string_view text);

[[nodiscard]] bool is_pams_name(std::string_view text);
// Returns the text with other characters than printable ones of ASCII as \xNN, cut if it is long.
[[nodiscard]] std::string pams_quoted(std::string_view text);

// Sentences for errors; those that return an empty one find nothing wrong.
[[nodiscard]] std::string pams_problem_of_name(std::string_view name);
[[nodiscard]] std::string pams_problem_of_length(std::size_t words);
// "there is no node hbu; did you mean hub?"
[[nodiscard]] std::string pams_no_such(std::string_view what, std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace situ::model
