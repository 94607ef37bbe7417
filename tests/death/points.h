// At which point of the code a place dies (situ/base/detail/test_points.h), and what the survivors saw of it: memory
// that the test shares with the places it forks.
#pragma once

#include <situ/base/detail/test_points.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace situ::test_points {

inline constexpr std::size_t point_count = static_cast<std::size_t>(point::count);
inline constexpr std::size_t check_count = static_cast<std::size_t>(check::count);
inline constexpr std::size_t most_places = 8;

enum class death : std::uint32_t { killed, exited, threw };

// Whichever place is the n-th to pass a point dies there.
struct strike {
  point where = point::count;    // count: nowhere
  std::uint64_t occurrence = 0;  // from 1
  death how = death::killed;
};

// Who dies in the next launch: at up to two points, and so long after a place has begun to join.
struct plan {
  strike at;
  strike also_at;
  std::uint32_t victim = most_places;  // in the order of joining; for the death after a time
  std::chrono::microseconds after{0};
  check without = check::count;  // this check is taken out; count: none
};

struct record {
  plan next;
  std::int32_t driver = 0;                // the process that launches: it never dies
  std::atomic<std::uint32_t> joining{0};  // places that have begun to join
  std::atomic<std::int64_t> died_at_ns{0};
  std::array<std::atomic<std::uint64_t>, point_count> passes{};  // in this launch
  std::array<std::atomic<std::int64_t>, most_places> told_at_ns{};
};

struct died {};  // what a place throws; no std::exception, so that no program takes it for an error of its own

[[nodiscard]] record& shared();  // one for the test's process and all that it forks
void begin_launch(const plan& next);
[[nodiscard]] std::int64_t now_ns() noexcept;
[[nodiscard]] std::string_view name_of(point which) noexcept;
[[nodiscard]] std::string_view name_of(check which) noexcept;
[[nodiscard]] std::string_view name_of(death how) noexcept;

}  // namespace situ::test_points
