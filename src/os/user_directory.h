// The folders that a user's own files of Situ are in.
#pragma once

#include <cstdlib>
#include <string>

namespace situ::detail {

// Returns an environment variable; empty if it is not set.
[[nodiscard]] inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns Situ's folder in the folder that an XDG variable names, or in the home folder. Empty if the user has
// neither. The folder need not exist.
[[nodiscard]] inline std::string user_directory(const char* xdg_variable, const char* below_home) {
  if (const std::string given = variable(xdg_variable); given.starts_with('/')) return given + "/situ";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + '/' + below_home + "/situ";
  return "";
}

}  // namespace situ::detail
