#include "runtime/failure.h"

#include <situ/base/error.h>
#include <situ/memory/place_context.h>

#include <cxxabi.h>
#include <fmt/format.h>

#include <typeinfo>

namespace situ::detail {

failure_record record_of(const std::exception_ptr& failure) {
  failure_record record{.place = current->place};
  try {
    std::rethrow_exception(failure);
  } catch (const remote_error& e) {
    return {.place = e.place_index(), .type_name = e.type_name(), .what = e.remote_what()};
  } catch (const std::exception& e) {
    record.type_name = demangle(typeid(e).name());
    record.what = e.what();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    record.type_name = type != nullptr ? demangle(type->name()) : "an unknown exception";
    record.what = "not derived from std::exception, so without a message";
  }
  return record;
}

std::size_t size_of(const failure_record& record) noexcept {
  return sizeof(record.place) + wire<std::string>::size(record.type_name) + wire<std::string>::size(record.what);
}

void write_failure(wire_writer& writer, const failure_record& record) noexcept {
  writer.write(&record.place, sizeof(record.place));
  wire<std::string>::write(writer, record.type_name);
  wire<std::string>::write(writer, record.what);
}

std::exception_ptr as_remote(const failure_record& record) { return std::make_exception_ptr(remote_error{record.place, record.type_name, record.what}); }

std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept {
  try {
    failure_record record;
    reader.read(&record.place, sizeof(record.place));
    record.type_name = wire<std::string>::read(reader);
    record.what = wire<std::string>::read(reader);
    return as_remote(record);
  } catch (...) {
    return std::make_exception_ptr(error{errc::bad_message, fmt::format("place {} reported an exception in a message that does not decode", source)});
  }
}

}  // namespace situ::detail
