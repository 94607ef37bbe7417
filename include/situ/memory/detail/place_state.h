// The state of a place in its job, as others see it. A value.
#pragma once

#include <cstdint>

namespace situ::detail {

enum class place_state : std::uint32_t {
  absent,  // not yet joined
  joined,
  left,  // left the job in order, with all others
  lost,  // died, exited early, or left by an exception; its slot has the reason
  gone,  // left after another place was lost, without waiting for the rest; no longer answers
};

// Returns whether others must no longer wait for the place. False for `left`: no place waits any more then.
[[nodiscard]] constexpr bool has_ended(place_state state) noexcept {
  return state == place_state::lost || state == place_state::gone;
}

}  // namespace situ::detail
