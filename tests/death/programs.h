// Programs in which a place dies: each of another kind, and none minds who it is. A few milliseconds each.
#pragma once

#include <span>
#include <string_view>

namespace situ::test_points {

struct program {
  std::string_view name;
  void (*run)(int rounds);  // at each place; throws place_lost_error where a place is lost, if it needs it
  int rounds;
};

[[nodiscard]] std::span<const program> programs() noexcept;

}  // namespace situ::test_points
