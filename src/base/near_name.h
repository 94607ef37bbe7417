// The name that somebody meant who wrote another one.
#pragma once

#include <span>
#include <string_view>

namespace situ::detail {

// Returns the one of `known` that is nearest to `written`; empty if each differs by more than two characters that are
// added, left out or replaced. cost: the product of the lengths, for each of them.
[[nodiscard]] std::string_view near_name(std::string_view written, std::span<const std::string_view> known);

}  // namespace situ::detail
