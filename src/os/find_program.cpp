#include "os/find_program.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace situ::os {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string why_not_executable(const fs::path& path) {
  std::error_code failed;
  const fs::file_status found = fs::status(path, failed);
  if (found.type() == fs::file_type::not_found) return "there is no such file";
  if (failed) return failed.message();
  return fs::is_directory(found) ? "it is a folder" : "it is not executable (chmod +x)";
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", name, why_not_executable(name)));
  }
  std::vector<std::string> folders;
  std::error_code unknown;  // without the path of this program, only PATH is searched
  if (const fs::path own = fs::read_symlink("/proc/self/exe", unknown); !unknown)
    folders.push_back(own.parent_path().string());
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string& folder : folders)
    if (is_executable(fs::path{folder} / name)) return fs::path{folder} / name;
  throw_error(
      errc::bad_launch,
      fmt::format(
          "cannot find the program \"{}\"; looked beside situ and in PATH: {}{}", name, fmt::join(folders, ", "),
          is_executable(name) ? fmt::format(". There is one in this folder: write ./{}", name) : std::string{}));
}

}  // namespace situ::os
