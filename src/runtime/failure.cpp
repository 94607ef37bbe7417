#include "runtime/failure.h"

#include <situ/base/error.h>
#include <situ/memory/detail/losses.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/task.h>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <typeinfo>

#include "runtime/status_writer.h"

namespace situ::detail {
namespace {

constexpr std::size_t most_calls = 32;  // for a recursion over places, the calls at both ends are enough

std::size_t size_of(const remote_call& call) noexcept {
  return sizeof(call.place_index) + sizeof(call.caller_index) + wire<std::string>::size(call.function) +
         wire<std::string>::size(call.file) + sizeof(call.line) + sizeof(call.left_out);
}

void write(wire_writer& writer, const remote_call& call) noexcept {
  writer.write(&call.place_index, sizeof(call.place_index));
  writer.write(&call.caller_index, sizeof(call.caller_index));
  wire<std::string>::write(writer, call.function);
  wire<std::string>::write(writer, call.file);
  writer.write(&call.line, sizeof(call.line));
  writer.write(&call.left_out, sizeof(call.left_out));
}

remote_call read_call(wire_reader& reader) {
  remote_call call;
  reader.read(&call.place_index, sizeof(call.place_index));
  reader.read(&call.caller_index, sizeof(call.caller_index));
  call.function = wire<std::string>::read(reader);
  call.file = wire<std::string>::read(reader);
  reader.read(&call.line, sizeof(call.line));
  reader.read(&call.left_out, sizeof(call.left_out));
  return call;
}

// Returns the name of a task's code. The type of a function pointer names no function: then the result is the symbol,
// or the offset in the module.
std::string name_of(const task_context& task) {
  std::string name{task.code_name == nullptr ? std::string_view{} : name_in(task.code_name)};
  Dl_info found{};
  if (task.code == nullptr || ::dladdr(task.code, &found) == 0) return name;
  if (found.dli_sname != nullptr && found.dli_saddr == task.code) return demangle(found.dli_sname);
  const std::string_view module{found.dli_fname};
  return fmt::format("{} at {}+{:#x}", name, module.substr(module.rfind('/') + 1),
                     reinterpret_cast<std::uintptr_t>(task.code) - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
}

void set_line(remote_call& call, const std::source_location& where) {
  const std::string_view path{where.file_name()};
  call.file = path.substr(path.rfind('/') + 1);
  call.line = where.line();
}

}  // namespace

failure_record record_of(const std::exception_ptr& failure) {
  failure_record record{.place = current->place};
  try {
    std::rethrow_exception(failure);
  } catch (const remote_error& e) {
    return {.place = e.place_index(), .type_name = e.type_name(), .what = e.remote_what(), .calls = e.calls()};
  } catch (const std::exception& e) {
    record.type_name = demangle(typeid(e).name());
    record.what = e.what();
    if (const auto* const loss = dynamic_cast<const place_lost_error*>(&e)) record.lost_place = loss->place_index();
    if (const auto* const own = dynamic_cast<const error*>(&e)) record.is_cancelled = own->code() == errc::cancelled;
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    record.type_name = type != nullptr ? demangle(type->name()) : "an unknown exception";
    record.what = "not derived from std::exception, so without a message";
  }
  return record;
}

void add_call(failure_record& record, const task_context& task, std::uint32_t caller) {
  std::vector<remote_call>& calls = record.calls;
  if (calls.size() == most_calls) {
    constexpr std::size_t kept = most_calls / 2;
    calls.erase(calls.begin() + kept);
    ++calls[kept - 1].left_out;
  }
  calls.push_back({.place_index = current->place, .caller_index = caller, .function = name_of(task), .file = {}});
}

std::size_t size_of(const failure_record& record) noexcept {
  std::size_t bytes = sizeof(std::uint32_t);
  for (const remote_call& each : record.calls) bytes += size_of(each);
  return bytes + sizeof(record.place) + sizeof(record.lost_place) + sizeof(record.is_cancelled) +
         wire<std::string>::size(record.type_name) + wire<std::string>::size(record.what);
}

void write_failure(wire_writer& writer, const failure_record& record) noexcept {
  writer.write(&record.place, sizeof(record.place));
  writer.write(&record.lost_place, sizeof(record.lost_place));
  writer.write(&record.is_cancelled, sizeof(record.is_cancelled));
  wire<std::string>::write(writer, record.type_name);
  wire<std::string>::write(writer, record.what);
  const auto calls = static_cast<std::uint32_t>(record.calls.size());
  writer.write(&calls, sizeof(calls));
  for (const remote_call& each : record.calls) write(writer, each);
}

std::exception_ptr as_remote(const failure_record& record) {
  const std::uint32_t lost = record.lost_place;
  if (lost < current->place_count && is_lost(*current->job, lost))
    return std::make_exception_ptr(place_lost_error{lost, lost_reason(*current->job, lost)});
  if (record.is_cancelled) return cancelled_error();
  return std::make_exception_ptr(remote_error{record.place, record.type_name, record.what, record.calls});
}

std::exception_ptr cancelled_error() {
  return std::make_exception_ptr(
      error{errc::cancelled, "its std::stop_token was asked to stop before the task or call began"});
}

// Adds the line of the call, which only the caller knows. Others may share the exception, so the line is added to a
// copy.
void rethrow(const std::exception_ptr& failure, const std::source_location& where) {
  try {
    std::rethrow_exception(failure);
  } catch (const place_lost_error&) {
    note_told();
    throw;
  } catch (const remote_error& e) {
    if (where.line() == 0 || e.calls().empty() || e.calls().back().line != 0 ||
        e.calls().back().caller_index != current->place)
      throw;
    std::vector<remote_call> calls = e.calls();
    set_line(calls.back(), where);
    throw remote_error{e.place_index(), e.type_name(), e.remote_what(), std::move(calls)};
  }
}

void throw_as_remote(const std::exception_ptr& failure, const char* code_name, const void* code,
                     const std::source_location& where) {
  failure_record record = record_of(failure);
  add_call(record, {.code_name = code_name, .code = code}, current->place);
  set_line(record.calls.back(), where);
  std::rethrow_exception(as_remote(record));
}

void throw_cancelled() { std::rethrow_exception(cancelled_error()); }

bool is_cancelled(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const error& e) {
    return e.code() == errc::cancelled;
  } catch (...) {
    return false;
  }
}

std::exception_ptr read_failure(wire_reader& reader, std::uint32_t source) noexcept {
  try {
    failure_record record;
    reader.read(&record.place, sizeof(record.place));
    reader.read(&record.lost_place, sizeof(record.lost_place));
    std::uint8_t is_cancelled = 0;
    reader.read(&is_cancelled, sizeof(is_cancelled));
    record.is_cancelled = is_cancelled == 1;
    record.type_name = wire<std::string>::read(reader);
    record.what = wire<std::string>::read(reader);
    std::uint32_t calls = 0;
    reader.read(&calls, sizeof(calls));
    if (calls > most_calls) throw_error(errc::bad_message, "more calls than are kept");
    while (calls-- != 0) record.calls.push_back(read_call(reader));
    return as_remote(record);
  } catch (...) {
    return std::make_exception_ptr(error{
        errc::bad_message, fmt::format("place {} reported an exception in a message that does not decode", source)});
  }
}

}  // namespace situ::detail
