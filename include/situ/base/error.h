// The exceptions for failures that a correct program can meet: a place is lost, bytes are bad, memory is out, access
// is denied. A caller's bug is an assertion instead: it ends the program and names the fix. Thread-safe: errors are
// values. The codes are in error_code.h. cost: making an error formats its text, which allocates; reading one is a
// load.
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
  // Returns the code, or the scope of the damage.
  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] error_scope scope() const noexcept { return situ::scope(code_); }
  // Returns the message without the "situ: <code>: " prefix.
  [[nodiscard]] std::string_view message() const noexcept { return std::string_view{what_}.substr(prefix_length_); }
  // Returns the whole text, zero-terminated; valid as long as the error.
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
  // Returns the index of the lost place in the job.
  [[nodiscard]] std::uint32_t place_index() const noexcept { return place_index_; }

 private:
  std::uint32_t place_index_;
};

// A call from place to place that an exception ended on its way to the waiting caller.
struct remote_call {
  std::uint32_t place_index = 0;   // the place that ran the function
  std::uint32_t caller_index = 0;  // the place that called it
  std::string function;            // the compiler's name for it, as in reports of waits; empty: unknown
  // The line of the call (for async_at, the line that waited for its future); the file without folders. Empty, 0:
  // unknown.
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t left_out = 0;  // number of calls after this one that were dropped, since there were too many
};

// An exception that was thrown by a body at another place. Carries the name of its dynamic type, its what(), and the
// calls from place to place that it passed through; the what() of the remote_error lists these calls, each on a line.
class remote_error : public error {
 public:
  remote_error(std::uint32_t place_index, std::string_view type_name, std::string_view remote_what,
               std::vector<remote_call> calls = {});
  // Returns the index of the place that threw the exception.
  [[nodiscard]] std::uint32_t place_index() const noexcept { return place_index_; }
  // Returns the demangled name of the exception's type.
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }
  // Returns the what() of the original exception.
  [[nodiscard]] const std::string& remote_what() const noexcept { return remote_what_; }
  // Returns the calls, innermost first: the call whose function threw, then the one that called it, and so on to the
  // place that catches the error. If a function on the way catches it and throws an exception of its own, the list
  // starts anew. Of more than 32 calls, the list keeps the first and the last 16.
  [[nodiscard]] const std::vector<remote_call>& calls() const noexcept { return calls_; }

 private:
  std::vector<remote_call> calls_;
  std::string type_name_;
  std::string remote_what_;
  std::uint32_t place_index_;
};

// Returns the source form of a name from typeid(x).name(); returns a name that does not demangle unchanged.
[[nodiscard]] std::string demangle(const char* mangled_name);

}  // namespace situ
