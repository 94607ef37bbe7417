// GAScore's token buffer: the source of each request whose handler is not done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/message_units/formats.h"

namespace situ::model {

// A token that is freed in a cycle is free in the next one: begin_cycle() comes first.
class token_buffer {
 public:
  static constexpr unsigned usual_entries = 16, most_entries = 256;

  explicit token_buffer(unsigned entries = usual_entries) : sources_(entries), is_used_(entries) {}
  void begin_cycle() noexcept {
    used_at_start_ = in_use_;
    freed_.clear();
  }
  [[nodiscard]] bool has_free() const noexcept { return used_at_start_ != sources_.size(); }
  // Returns the lowest token that was free at the cycle's start. pre: has_free
  std::uint32_t keep(node_number source) noexcept {
    std::uint32_t token = 0;
    while (is_used_[token] || was_freed(token)) ++token;
    is_used_[token] = true;
    sources_[token] = source;
    ++in_use_;
    return token;
  }
  // Returns the source, or nothing if the token is not in use.
  [[nodiscard]] std::optional<node_number> source(std::uint32_t token) const noexcept {
    if (token >= sources_.size() || !is_used_[token]) return std::nullopt;
    return sources_[token];
  }
  // Returns whether the token was in use.
  bool free(std::uint32_t token) noexcept {
    if (token >= sources_.size() || !is_used_[token]) return false;
    is_used_[token] = false;
    freed_.push_back(token);
    --in_use_;
    return true;
  }
  [[nodiscard]] unsigned in_use() const noexcept { return in_use_; }
  [[nodiscard]] unsigned entries() const noexcept { return static_cast<unsigned>(sources_.size()); }

 private:
  [[nodiscard]] bool was_freed(std::uint32_t token) const noexcept {
    return std::find(freed_.begin(), freed_.end(), token) != freed_.end();
  }

  std::vector<node_number> sources_;
  std::vector<bool> is_used_;
  std::vector<std::uint32_t> freed_;  // in this cycle
  unsigned in_use_ = 0;
  unsigned used_at_start_ = 0;
};

}  // namespace situ::model
