// Names of types, made by the compiler, and a number made of a name. Equal in every process of one executable.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string_view>

namespace situ::detail {

template <class T>
[[nodiscard]] consteval std::string_view type_name() noexcept {
  // "... type_name() [with T = NAME; std::string_view = ...]", or "... [T = NAME]"
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  const std::size_t end =
      text.rfind("; std::string_view") != std::string_view::npos ? text.rfind("; std::string_view") : text.rfind(']');
  return text.substr(0, end);
}

// Returns the compiler's text of a constant, with the text around it.
template <auto Value>
[[nodiscard]] constexpr std::string_view value_text() noexcept {
  return __PRETTY_FUNCTION__;
}

// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text,
                                                std::uint64_t seed = 0xcbf29ce484222325) noexcept {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}
template <class T>
[[nodiscard]] consteval std::uint64_t name_hash() noexcept {
  return hash_text(type_name<T>());
}

}  // namespace situ::detail
