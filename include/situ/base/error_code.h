// The codes of errors, and the function that throws one: enough for code that reports errors and catches none. The
// exceptions are in error.h, apart, so that a change of them recompiles only code that catches or makes them.
// Thread-safe: codes are values. cost: throw_error as making an error (error.h); the rest are loads.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string_view>

namespace situ {

// The extent of the damage: only this operation, the link to one place, a place, or the whole job.
enum class error_scope : std::uint8_t { operation, link, place, job };

// The code of an error. The codes are in the order of their error_scope: up to remote_exception only the operation
// fails, so the caller may go on; then come the link, the place, and from no_runtime on the job.
enum class errc : std::uint8_t {
  bad_argument,      // an argument outside its documented domain
  bad_address,       // an address outside every segment, or not allocated
  misaligned,        // an address not aligned for the operation
  out_of_memory,     // a segment or the machine has no room
  access_denied,     // a server of remote memory refuses: no capability, or no such key
  not_supported,     // this build, kernel or machine cannot do it
  bad_message,       // received bytes that do not decode, or that name code which is not loaded there
  bad_file,          // a file that cannot be read, written or parsed
  cancelled,         // a task or call that a std::stop_token stopped before it began
  remote_exception,  // the body of an `at` threw; see remote_error

  link_lost,  // a server of remote memory cannot be reached, or is silent

  place_lost,  // a place has died, exited early, or left by an exception; see place_lost_error

  no_runtime,        // called outside the life of a situ::runtime
  bad_launch,        // the job could not be formed
  version_mismatch,  // places of one job run different builds
};

// Returns the scope of the damage of an error with this code.
[[nodiscard]] error_scope scope(errc code) noexcept;
// Returns the code in words: "out of memory".
[[nodiscard]] std::string_view name(errc code) noexcept;

// Throws situ::error; out of line, so that hot functions keep no string code.
[[noreturn]] void throw_error(errc code, std::string_view message);

}  // namespace situ
