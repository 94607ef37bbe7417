// How an exception travels: the place where it was thrown, its type's name and its message. The loss of a place is the
// same news everywhere, so place_lost_error arrives as what it was; everything else as remote_error.
#pragma once

#include <situ/runtime/serialize.h>

#include <cstdint>
#include <exception>
#include <string>

namespace situ::detail {

struct failure_record {
  std::uint32_t place = 0;
  std::string type_name;
  std::string what;
  std::uint32_t lost_place = no_place;
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
};

// Of an exception at this place; one that came from elsewhere keeps its origin.
[[nodiscard]] failure_record record_of(const std::exception_ptr& failure);
[[nodiscard]] std::size_t size_of(const failure_record& record) noexcept;
void write_failure(wire_writer& writer, const failure_record& record) noexcept;
// As it is to be thrown here; an unreadable record becomes one that says so, from `source`.
[[nodiscard]] std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept;
[[nodiscard]] std::exception_ptr as_remote(const failure_record& record);

}  // namespace situ::detail
