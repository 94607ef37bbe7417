#include <situ/base/error.h>

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include <utility>

namespace situ {
namespace {

std::string text_of(const std::vector<remote_call>& calls) {
  std::string text;
  for (const remote_call& each : calls) {
    text += fmt::format("\n  in {} at place {}, called by place {}",
                        each.function.empty() ? "a function of unknown name" : each.function, each.place_index,
                        each.caller_index);
    if (each.line != 0) text += fmt::format(" at {}:{}", each.file, each.line);
    if (each.left_out != 0) text += fmt::format("\n  in {} further calls", each.left_out);
  }
  return text;
}

}  // namespace

error_scope scope(errc code) noexcept {
  if (code < errc::link_lost) return error_scope::operation;
  if (code < errc::place_lost) return error_scope::link;
  if (code < errc::no_runtime) return error_scope::place;
  return error_scope::job;
}

std::string_view name(errc code) noexcept {
  switch (code) {
    case errc::bad_argument: return "bad argument";
    case errc::bad_address: return "bad address";
    case errc::misaligned: return "misaligned";
    case errc::out_of_memory: return "out of memory";
    case errc::access_denied: return "access denied";
    case errc::not_supported: return "not supported";
    case errc::bad_message: return "bad message";
    case errc::bad_file: return "bad file";
    case errc::cancelled: return "cancelled";
    case errc::remote_exception: return "remote exception";
    case errc::link_lost: return "link lost";
    case errc::place_lost: return "place lost";
    case errc::no_runtime: return "no runtime";
    case errc::bad_launch: return "bad launch";
    case errc::version_mismatch: return "version mismatch";
  }
  return "unknown error";
}

error::error(errc code, std::string_view message)
    : what_{fmt::format("situ: {}: ", name(code))}, prefix_length_{what_.size()}, code_{code} {
  what_ += message;
}

place_lost_error::place_lost_error(std::uint32_t place_index, std::string_view reason)
    : error{errc::place_lost, fmt::format("place {}: {}", place_index, reason)}, place_index_{place_index} {}

remote_error::remote_error(std::uint32_t place_index, std::string_view type_name, std::string_view remote_what,
                           std::vector<remote_call> calls)
    : error{errc::remote_exception,
            fmt::format("thrown at place {}: {}: {}{}", place_index, type_name, remote_what, text_of(calls))},
      calls_{std::move(calls)},
      type_name_{type_name},
      remote_what_{remote_what},
      place_index_{place_index} {}

void throw_error(errc code, std::string_view message) { throw error{code, message}; }

std::string demangle(const char* mangled_name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{abi::__cxa_demangle(mangled_name, nullptr, nullptr, &status),
                                                         &std::free};
  return status == 0 ? std::string{text.get()} : std::string{mangled_name};
}

}  // namespace situ
