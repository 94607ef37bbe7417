// GAScore's token buffer: the source of each request whose handler is not done.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "model/message_units/formats.h"

namespace situ::model {

// A token that is freed in a cycle is free in the next one: begin_cycle() comes first.
class token_buffer {
 public:
  static constexpr unsigned entries = 16;

  void begin_cycle() noexcept { free_at_start_ = static_cast<std::uint16_t>(~used_); }
  [[nodiscard]] bool has_free() const noexcept { return free_at_start_ != 0; }
  // pre: has_free
  std::uint32_t keep(node_number source) noexcept {
    const auto token = static_cast<std::uint32_t>(std::countr_zero(free_at_start_));
    used_ = static_cast<std::uint16_t>(used_ | 1U << token);
    sources_[token] = source;
    return token;
  }
  // Returns the source, or nothing if the token is not in use.
  [[nodiscard]] std::optional<node_number> source(std::uint32_t token) const noexcept {
    if (!is_used(token)) return std::nullopt;
    return sources_[token];
  }
  // Returns whether the token was in use.
  bool free(std::uint32_t token) noexcept {
    if (!is_used(token)) return false;
    used_ = static_cast<std::uint16_t>(used_ & ~(1U << token));
    return true;
  }
  [[nodiscard]] unsigned in_use() const noexcept { return static_cast<unsigned>(std::popcount(used_)); }

 private:
  [[nodiscard]] bool is_used(std::uint32_t token) const noexcept {
    return token < entries && (used_ >> token & 1U) != 0;
  }

  std::array<node_number, entries> sources_{};
  std::uint16_t used_ = 0;
  std::uint16_t free_at_start_ = 0xffff;
};

}  // namespace situ::model
