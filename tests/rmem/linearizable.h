// Whether what several clients saw of one register could have happened one operation after another (Wing and Gong,
// Testing and Verifying Concurrent Objects, 1993; with Lowe's memory of what has been tried).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace situ_rmem_test {

enum class register_call : std::uint8_t { read, write, fetch_add, compare_swap };

struct register_operation {
  register_call what = register_call::read;
  std::uint64_t operand = 0;   // what is written, added, or comes there
  std::uint64_t expected = 0;  // of a compare_swap
  std::uint64_t result = 0;    // of all but a write: what was there
  std::uint64_t began = 0;
  std::uint64_t ended = std::numeric_limits<std::uint64_t>::max();  // never: it may have happened or not

  [[nodiscard]] bool has_ended() const { return ended != std::numeric_limits<std::uint64_t>::max(); }
  // Whether it may happen to that value, which it changes.
  [[nodiscard]] bool happen(std::uint64_t& value) const {
    if (has_ended() && what != register_call::write && result != value) return false;
    if (what == register_call::write) value = operand;
    if (what == register_call::fetch_add) value += operand;
    if (what == register_call::compare_swap && value == expected) value = operand;
    return true;
  }
};

// pre: at most 64 operations. The register is 0 at first.
class linearizable {
 public:
  explicit linearizable(std::vector<register_operation> all) : all_{std::move(all)} {}
  [[nodiscard]] bool check() { return from(0, 0); }

 private:
  [[nodiscard]] bool from(std::uint64_t done, std::uint64_t value) {
    bool is_over = true;
    std::uint64_t first_end = std::numeric_limits<std::uint64_t>::max();  // none that begins later may come before it
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((done >> i & 1) != 0) continue;
      is_over = is_over && !all_[i].has_ended();
      first_end = std::min(first_end, all_[i].ended);
    }
    if (is_over) return true;
    if (!tried_.emplace(done, value).second) return false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::uint64_t now = value;
      if ((done >> i & 1) != 0 || all_[i].began > first_end || !all_[i].happen(now)) continue;
      if (from(done | std::uint64_t{1} << i, now)) return true;
    }
    return false;
  }

  std::vector<register_operation> all_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> tried_;
};

}  // namespace situ_rmem_test
