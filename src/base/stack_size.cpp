#include "base/stack_size.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

namespace situ::detail {

std::size_t checked_stack_bytes(std::uint64_t bytes, const char* what) {
  constexpr std::size_t page = 4096;
  if (bytes < least_stack_bytes || bytes > most_stack_bytes)
    throw_error(errc::bad_argument, fmt::format("{}: a stack of {} bytes; a task's stack has {} to {}", what, bytes,
                                                exact_bytes(least_stack_bytes), exact_bytes(most_stack_bytes)));
  return (bytes + page - 1) & ~(page - 1);
}

}  // namespace situ::detail
