#include <situ/memory/detail/place_context.h>

#include <situ/base/error_code.h>
#include <situ/memory/ptr.h>

#include <fmt/format.h>
#include <unistd.h>

namespace situ::detail {
namespace {

// The target of `current` outside a runtime. Never written: without places, no path gets past its first check.
constinit place_context no_runtime;
// The target of `current` in a child that a place has forked.
constinit place_context forked_child;

}  // namespace

constinit thread_local place_context* current = &no_runtime;

void leave_runtime_in_child() noexcept {
  forked_child.place = current->place;
  current = &forked_child;
}

void throw_no_runtime(std::string_view what) {
  if (current == &forked_child)
    throw_error(errc::no_runtime, fmt::format("{} in process {}, a child that place {} forked: it is no place. Let it "
                                              "exec another program or leave by _exit, or construct a "
                                              "situ::runtime, which is a job of its own",
                                              what, ::getpid(), forked_child.place));
  if (current->place_count != 0)
    throw_error(
        errc::no_runtime,
        fmt::format("{} in a registered thread of place {}: only the place's own thread may do that; let it, by "
                    "situ::place_threads::run",
                    what, current->place));
  throw_error(errc::no_runtime, fmt::format("{} outside the life of a situ::runtime: construct one first (a further "
                                            "thread of a place is to be registered: situ::place_threads)",
                                            what));
}

void throw_foreign_address(std::uintptr_t address) {
  if (current->place_count == 0)
    throw_no_runtime(fmt::format(
        "the place of address {:#x} (global pointers are for the thread, or a task, that made the runtime)", address));
  const std::uintptr_t end = current->base + (std::uintptr_t{current->place_count} << current->slice_shift);
  throw_error(errc::bad_address,
              fmt::format("address {:#x} belongs to no place: the {} places of this job lie in [{:#x}, {:#x}); "
                          "allocate with situ::allocate what other places shall reach",
                          address, current->place_count, current->base, end));
}

}  // namespace situ::detail
