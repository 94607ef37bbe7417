// Fields of a machine file's tables that are words of a list, or small numbers.
#pragma once

#include <situ/base/spec_file.h>
#include <situ/machine/tree.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace situ::machine {

inline constexpr coherence coherences[] = {coherence::unknown, coherence::none, coherence::snooping,
                                           coherence::directory};

// Returns the field's kind, by its name. Throws bad_file for any other word; the message names those that are known.
template <class Kind, std::size_t N>
Kind parse_kind(const spec_table& table, std::string_view key, std::string_view fallback, const Kind (&kinds)[N]) {
  const std::string text = table.text(key, fallback);
  std::string known;
  for (const Kind kind : kinds) {
    if (name(kind) == text) return kind;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name(kind));
  }
  table.fail(key, fmt::format("\"{}\" is not known; write one of {}", text, known));
}

// Returns the field, or 0 if the table does not have it. Throws bad_file for a number below 0 or of more than 31 bits.
[[nodiscard]] inline std::uint32_t small(const spec_table& table, std::string_view key) {
  const std::int64_t value = table.integer(key, 0);
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    table.fail(key, fmt::format("{} is out of range; write a small positive number", value));
  return static_cast<std::uint32_t>(value);
}

}  // namespace situ::machine
