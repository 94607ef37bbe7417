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

// Returns an empty string if no folder has such a program.
std::string find_in(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders)
    if (const fs::path file = fs::path{folder} / name; is_executable(file)) return file.string();
  return {};
}

std::vector<std::string> folders_of_path() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> folders;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

}  // namespace

std::vector<std::string> own_program_folders() {
  std::error_code unknown;
  const fs::path own = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  if (unknown) return {};
  return {own.string(), (own.parent_path() / "libexec/situ").string()};
}

std::string find_own_program(const std::string& name) { return find_in(own_program_folders(), name); }

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", name, why_not_executable(name)));
  }
  const std::vector<std::string> own = own_program_folders();  // if it is empty, only PATH is searched
  std::vector<std::string> folders = folders_of_path();
  // A program of the user's comes before an example of the same name.
  if (!own.empty()) {
    folders.insert(folders.begin(), own.front());
    folders.push_back(own.back());
  }
  if (std::string file = find_in(folders, name); !file.empty()) return file;
  throw_error(errc::bad_launch,
              fmt::format("cannot find the program \"{}\"; looked beside situ, in PATH and among the examples of an "
                          "install: {}{}",
                          name, fmt::join(folders, ", "),
                          is_executable(name) ? fmt::format(". There is one in this folder: write ./{}", name)
                                              : std::string{}));
}

}  // namespace situ::os
