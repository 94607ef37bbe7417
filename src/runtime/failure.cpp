#include "runtime/failure.h"

#include <situ/base/error.h>
#include <situ/memory/detail/place_context.h>

#include <cxxabi.h>
#include <fmt/format.h>

#include <typeinfo>

#include "memory/liveness.h"

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
    if (const auto* const loss = dynamic_cast<const place_lost_error*>(&e)) record.lost_place = loss->place_index();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    record.type_name = type != nullptr ? demangle(type->name()) : "an unknown exception";
    record.what = "not derived from std::exception, so without a message";
  }
  return record;
}

std::size_t size_of(const failure_record& record) noexcept {
  return sizeof(record.place) + sizeof(record.lost_place) + wire<std::string>::size(record.type_name) +
         wire<std::string>::size(record.what);
}

void write_failure(wire_writer& writer, const failure_record& record) noexcept {
  writer.write(&record.place, sizeof(record.place));
  writer.write(&record.lost_place, sizeof(record.lost_place));
  wire<std::string>::write(writer, record.type_name);
  wire<std::string>::write(writer, record.what);
}

std::exception_ptr as_remote(const failure_record& record) {
  const std::uint32_t lost = record.lost_place;
  if (lost < current->place_count &&
      current->job->slot(lost).state.load(std::memory_order_acquire) == place_state::lost)
    return std::make_exception_ptr(place_lost_error{lost, lost_reason(*current->job, lost)});
  return std::make_exception_ptr(remote_error{record.place, record.type_name, record.what});
}

std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept {
  try {
    failure_record record;
    reader.read(&record.place, sizeof(record.place));
    reader.read(&record.lost_place, sizeof(record.lost_place));
    record.type_name = wire<std::string>::read(reader);
    record.what = wire<std::string>::read(reader);
    return as_remote(record);
  } catch (...) {
    return std::make_exception_ptr(error{
        errc::bad_message, fmt::format("place {} reported an exception in a message that does not decode", source)});
  }
}

}  // namespace situ::detail
