// situ::launch: starts the places of a job on this machine from inside a program or a test, waits for them, and
// returns how each place ended. The command `situ run` does the same for another program.
//
//   situ::launch_result result = situ::launch(4, [] { situ::barrier(); });
//
// Each place runs the body inside a situ::runtime of its own. The calling thread is not a place; it watches the places
// until the last has ended. No place outlives the call, and if the calling program is killed its places die with it.
// Thread-safe: independent calls may run at the same time. A place cannot call it. cost: a thread for each place, or a
// fork, which copies the calling program's page tables.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <situ/launch/launch_options.h>
#include <situ/launch/launch_result.h>

namespace situ {

namespace detail {
launch_result launch_places(std::uint32_t places, const std::function<int()>& body, const launch_options& options);
}

// Runs body (returning int, an exit code, or void) at each of `places` places and waits for all of them. pre: if
// places are processes, no other thread of this program holds a lock that the body takes (as for fork). Errors:
// bad_argument for no places or too many, or an impossible stack size; bad_launch if the places cannot be started, or
// if a place calls it; bad_file if the trace cannot be written. The result holds the failures within the places.
template <std::invocable Body>
  requires(std::is_void_v<std::invoke_result_t<Body&>> || std::convertible_to<std::invoke_result_t<Body&>, int>)
launch_result launch(std::uint32_t places, Body&& body, const launch_options& options = {}) {
  return detail::launch_places(
      places,
      [&body]() -> int {
        if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
          body();
          return 0;
        } else {
          return static_cast<int>(body());
        }
      },
      options);
}

}  // namespace situ
