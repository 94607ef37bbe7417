// The one way to print, for programs and libraries.
//
// tell() writes to standard error, for a person. If that stream is closed or full, the text is lost and the caller goes
// on: nobody is left to be told. print_out() writes to standard output, which is a command's result. It does not throw
// either, and it remembers the first failure: a command ends with exit_code_after_output(), so that lost output never
// ends with 0. A reader that has gone (EPIPE) fails the command without a sentence, as in other tools.
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

// Writes what the stream's buffer holds. Returns false if anything printed so far is lost.
bool flush_output() noexcept;

// For code that writes to standard output by other means: errno's value of a write that failed.
void note_lost_output(int reason) noexcept;

// For the end of a command whose exit code is `code`. Flushes; if output is lost, tells why and returns EXIT_FAILURE in
// place of 0. Another code stays.
[[nodiscard]] int exit_code_after_output(int code) noexcept;

}  // namespace situ::detail
