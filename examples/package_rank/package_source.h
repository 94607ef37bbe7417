// Where package lists come from: apt's, a saved file, or standard input. Not thread-safe.
#pragma once

#include <situ/base/error.h>

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

namespace package_rank {

// A list is named by its file, "-" for standard input; empty: `apt-cache dumpavail`.
[[nodiscard]] std::string describe_source(const std::string& list);

// Calls take(piece) until the end of the list, while its producer still writes it. Throws situ::error (bad_file), also
// for what `take` throws, that names the list, and says what to do where there is no apt.
void read_source(const std::string& list, const std::function<void(std::string_view)>& take);

// The whole of a file.
[[nodiscard]] std::string read_text(const std::string& path);

// Throws bad_file: apt gave no list of an archive, whose stanzas have file names.
[[noreturn]] void no_lists_of_apt();

// Runs f; what it finds wrong is told with the name of the source.
template <class F>
auto about(const std::string& source, F&& f) {
  try {
    return f();
  } catch (const situ::error& e) {
    situ::throw_error(situ::errc::bad_file, fmt::format("{}: {}", source, e.message()));
  }
}

}  // namespace package_rank
