// The form in which an exception is sent between places: the place that threw it, the name of its type, its message,
// and the calls that it has passed through; each place that it leaves adds its own call. The loss of a place arrives as
// place_lost_error, because it means the same at every place, and cancellation arrives as errc::cancelled; every other
// exception arrives as remote_error.
#pragma once

#include <situ/base/error.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/serialize.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace situ::detail {

struct failure_record {
  std::uint32_t place = 0;
  std::string type_name;
  std::string what;
  std::uint32_t lost_place = no_place;
  bool is_cancelled = false;
  std::vector<remote_call> calls;
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
};

// Returns the record of an exception at this place; a remote_error keeps its origin.
[[nodiscard]] failure_record record_of(const std::exception_ptr& failure);
// Adds the call that the exception leaves: it ran `task` here for the place `caller`.
void add_call(failure_record& record, const task_context& task, std::uint32_t caller);
[[nodiscard]] std::size_t size_of(const failure_record& record) noexcept;
void write_failure(wire_writer& writer, const failure_record& record) noexcept;
// Returns the exception to throw here. An unreadable record becomes an error that says so and names `source`.
[[nodiscard]] std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept;
[[nodiscard]] std::exception_ptr as_remote(const failure_record& record);
// Returns whether the exception reports a cancellation. No one else need hear of it: the code that asked for the stop
// knows.
[[nodiscard]] bool is_cancelled(const std::exception_ptr& failure) noexcept;

}  // namespace situ::detail
