// The size of the stacks that tasks run on, as launchers and the runtime accept it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::detail {

inline constexpr std::size_t least_stack_bytes = std::size_t{64}
                                                 << 10;  // for the worker's loop and an error on its way
inline constexpr std::size_t most_stack_bytes = std::size_t{1} << 36;

// Returns the bytes rounded up to whole pages. Throws bad_argument, with `what` for the origin of the value, beyond the
// two limits above.
[[nodiscard]] std::size_t checked_stack_bytes(std::uint64_t bytes, const char* what);

}  // namespace situ::detail
