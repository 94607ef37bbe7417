// The one way to print, for programs and libraries.
//
// tell() writes to standard error, for a person. If that stream is closed or full, the text is lost and the caller
// goes on, since the error cannot be reported. print_out() writes to standard output, which is a command's result. It
// does not throw either, and it remembers the first failure: a command ends with exit_code_after_output(), so that
// lost output never ends with 0. If the reader has closed the pipe (EPIPE), the command fails without a message, as in
// other tools.
//
// Thread-safe. Each call writes one text, which calls of other threads do not divide. A limit on the size of files
// (ulimit -f) fails a write, and sends no signal.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace situ::detail {

void tell_text(std::string_view text) noexcept;
void tell_formatted(fmt::string_view format, fmt::format_args arguments) noexcept;

template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  tell_formatted(format, fmt::make_format_args(arguments...));
}

void print_text(std::string_view text) noexcept;

template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(fmt::vformat(format, fmt::make_format_args(arguments...)));
}

// Flushes the stream's buffer. Returns false if anything printed so far is lost.
bool flush_output() noexcept;

// Records a failed write, by its errno's value, for code that writes to standard output by other means.
void note_lost_output(int reason) noexcept;

// Called at the end of a command whose exit code is `code`. Flushes; if output is lost, reports why and returns
// EXIT_FAILURE in place of 0. Another code stays.
[[nodiscard]] int exit_code_after_output(int code) noexcept;

}  // namespace situ::detail
