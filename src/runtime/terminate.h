// How the end of a place by an exception is told: its reason is stored while the exception is still known.
#pragma once

#include <situ/memory/detail/place_context.h>

#include <exception>
#include <string>
#include <string_view>

namespace situ::detail {

// From now until remove_terminate_reason, an uncaught exception makes this place lost, with the exception's type and
// message as the reason, before the process aborts. A place that ends only because another is lost (place_lost_error)
// prints one line and exits with code 1, without a core, if its process is its own.
void install_terminate_reason(place_context& context) noexcept;
void remove_terminate_reason(place_context& context) noexcept;

// For the destructor of a runtime that is left by unwinding: marks the place lost. The destructor must then not wait
// for the other places.
void leave_by_exception(place_context& context, std::string_view what = {}) noexcept;

// Returns "std::runtime_error: disk full"; for an exception that is no std::exception, its type alone.
std::string describe(const std::exception_ptr& exception);

}  // namespace situ::detail
