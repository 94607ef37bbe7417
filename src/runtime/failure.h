// How an exception travels: the place where it was thrown, its type's name and its message, and the calls that it has
// come through, to which each place that it leaves adds its own. The loss of a place is the
// same news everywhere, so place_lost_error arrives as what it was, and so does that a call was stopped before it
// began; everything else as remote_error.
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

// Of an exception at this place; one that came from elsewhere keeps its origin.
[[nodiscard]] failure_record record_of(const std::exception_ptr& failure);
// It leaves a call of the place `caller` that ran `task` here.
void add_call(failure_record& record, const task_context& task, std::uint32_t caller);
[[nodiscard]] std::size_t size_of(const failure_record& record) noexcept;
void write_failure(wire_writer& writer, const failure_record& record) noexcept;
// As it is to be thrown here; an unreadable record becomes one that says so, from `source`.
[[nodiscard]] std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept;
[[nodiscard]] std::exception_ptr as_remote(const failure_record& record);
// Whether it says that something was stopped before it began: whoever asked for that knows.
[[nodiscard]] bool is_cancelled(const std::exception_ptr& failure) noexcept;

}  // namespace situ::detail
