// What can happen to a correct program, as exceptions: a place is lost, bytes are bad, memory is out, access is denied.
// A caller's bug is an assertion instead: it ends the program and names the fix. Thread-safe: errors are values.
// The codes are in error_code.h. cost: making an error formats its text, which allocates; reading one is a load.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/base/error_code.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace situ {

// Base of Situ's own exceptions. what() is "situ: <code name>: <what, where, what to do>".
class error : public std::exception {
 public:
  error(errc code, std::string_view message);
  // The code, and what it says is damaged.
  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] error_scope scope() const noexcept { return situ::scope(code_); }
  // The message without the "situ: <code>: " prefix.
  [[nodiscard]] std::string_view message() const noexcept { return std::string_view{what_}.substr(prefix_length_); }
  // The whole text, zero-terminated; valid as long as the error.
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
  std::size_t prefix_length_;
  errc code_;
};

// A place of the job is gone: killed, exited before leaving the job, or left by an exception.
class place_lost_error : public error {
 public:
  place_lost_error(std::uint32_t place_index, std::string_view reason);
  // The index of the lost place in the job.
  [[nodiscard]] std::uint32_t place_index() const noexcept { return place_index_; }

 private:
  std::uint32_t place_index_;
};

// A call from place to place that an exception has ended on its way to who waits.
struct remote_call {
  std::uint32_t place_index = 0;   // where the function ran
  std::uint32_t caller_index = 0;  // the place that called it
  std::string function;            // as the compiler names it, as reports of waiting have it; empty: unknown
  // The line of the call (of async_at: where its future was waited for), the file without folders; empty, 0: unknown.
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t left_out = 0;  // calls after this one that are not kept, since there are too many
};

// An exception thrown by a body that ran at another place. Carries its dynamic type's name and its what(), and the
// calls from place to place that it came through, which its own what() lists, each on a line.
class remote_error : public error {
 public:
  remote_error(std::uint32_t place_index, std::string_view type_name, std::string_view remote_what,
               std::vector<remote_call> calls = {});
  // The index of the place where it was thrown.
  [[nodiscard]] std::uint32_t place_index() const noexcept { return place_index_; }
  // The demangled name of the exception's type.
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }
  // Its what().
  [[nodiscard]] const std::string& remote_what() const noexcept { return remote_what_; }
  // The call whose function threw, then the one whose function called that, and so on to the place that catches it.
  // Where a function catches it and throws something of its own, that begins anew. Of more than 32 the first and the
  // last 16.
  [[nodiscard]] const std::vector<remote_call>& calls() const noexcept { return calls_; }

 private:
  std::vector<remote_call> calls_;
  std::string type_name_;
  std::string remote_what_;
  std::uint32_t place_index_;
};

// What typeid(x).name() gave, as it is written in a program; what does not demangle comes back as it is.
[[nodiscard]] std::string demangle(const char* mangled_name);

}  // namespace situ
