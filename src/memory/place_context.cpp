#include <situ/memory/place_context.h>

#include <situ/base/error.h>
#include <situ/memory/ptr.h>

#include <fmt/format.h>

namespace situ::detail {
namespace {

// What `current` points to outside a runtime. Never written: without places, no path gets past its first check.
constinit place_context no_runtime;

}  // namespace

constinit thread_local place_context* current = &no_runtime;

void throw_foreign_address(std::uintptr_t address) {
  if (current->place_count == 0)
    throw_error(errc::no_runtime, fmt::format("address {:#x} has no place, because this thread has no situ::runtime; create one first, "
                                              "and use global pointers from the thread (or a task) that did",
                                              address));
  const std::uintptr_t end = current->base + (std::uintptr_t{current->place_count} << current->slice_shift);
  throw_error(errc::bad_address, fmt::format("address {:#x} belongs to no place: the {} places of this job lie in [{:#x}, {:#x}); "
                                             "allocate with situ::allocate what other places shall reach",
                                             address, current->place_count, current->base, end));
}

}  // namespace situ::detail
