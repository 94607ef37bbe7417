#include "machine_file.h"

#include <situ/base/error.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

std::string machine_file_of(const std::string& given) {
  std::error_code ignored;
  if (given == "flat" || given.starts_with("flat:") || given.find('/') != std::string::npos ||
      given.ends_with(".toml") || fs::exists(given, ignored))
    return given;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/situ/machines";
  if (fs::path file = folder / (given + ".toml"); fs::exists(file, ignored)) return file.string();
  std::vector<std::string> names;
  for (const fs::directory_entry& each : fs::directory_iterator{folder, ignored})
    names.push_back(each.path().stem().string());
  std::ranges::sort(names);
  situ::throw_error(situ::errc::bad_file,
                    names.empty()
                        ? fmt::format("{}: there is no such file, and no machines lie in {}; give the path of a "
                                      "machine's file",
                                      given, folder.string())
                        : fmt::format("{}: there is no such file, and no such machine: {}; give one of these, or the "
                                      "path of a machine's file",
                                      given, fmt::join(names, ", ")));
}
