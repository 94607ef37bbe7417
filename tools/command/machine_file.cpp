#include "machine_file.h"

#include <situ/base/error.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

fs::path machine_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/situ/machines";
}

}  // namespace

std::vector<fs::path> machine_files() {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator{machine_folder(), ignored})
    files.push_back(each.path());
  std::ranges::sort(files);
  return files;
}

std::string machine_file_of(const std::string& given, bool (*is_offered)(const fs::path& file)) {
  std::error_code ignored;
  if (given == "flat" || given.starts_with("flat:") || given.find('/') != std::string::npos ||
      given.ends_with(".toml") || fs::exists(given, ignored))
    return given;
  const fs::path folder = machine_folder();
  if (fs::path file = folder / (given + ".toml"); fs::exists(file, ignored)) return file.string();
  std::vector<std::string> names;
  for (const fs::path& each : machine_files())
    if (is_offered == nullptr || is_offered(each)) names.push_back(each.stem().string());
  situ::throw_error(situ::errc::bad_file,
                    names.empty()
                        ? fmt::format("{}: there is no such file, and no machines lie in {}; give the path of a "
                                      "machine's file",
                                      given, folder.string())
                        : fmt::format("{}: there is no such file, and no such machine: {}; give one of these, or the "
                                      "path of a machine's file",
                                      given, fmt::join(names, ", ")));
}
