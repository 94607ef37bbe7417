// `situ new NAME`: writes a project that builds, runs and tests itself. Its files are those of tools/situ/project.
#include "commands.h"

#include "base/print.h"
#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "project_files.h"

namespace {

namespace fs = std::filesystem;
using situ::detail::print_out;

constexpr const char* new_examples =
    "Examples:\n"
    "  situ new sums                   writes sums/: CMakeLists.txt, main.cpp, pi.h, test.cpp and README.md\n"
    "  situ new ~/code/sums            the same elsewhere\n";

// CMake's targets get this name, so it may contain only the characters that they may.
void check_name(const std::string& name) {
  const auto is_fit = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  const bool is_good = !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
                       std::all_of(name.begin(), name.end(), is_fit);
  if (!is_good || name == "test" || name == "all" || name == "help" || name == "clean" || name == "install")
    throw CLI::ValidationError(
        "NAME",
        fmt::format("'{}' cannot be a CMake target's name; take a letter, then letters, digits, _ and -", name));
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Returns the folder above this command's: the install's prefix, or the tree that built it.
fs::path own_prefix() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
}

bool is_install(const fs::path& prefix) {
  std::error_code ignored;
  return fs::exists(prefix / SITU_CMAKE_DIRECTORY / "SituConfig.cmake", ignored);
}

// Tells whether CMake finds the prefix: it looks for packages next to the folders of PATH.
bool is_on_path(const fs::path& prefix) {
  const char* const path = std::getenv("PATH");
  std::error_code ignored;
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const auto end = std::min(rest.find(':'), rest.size());
    if (fs::equivalent(fs::path{rest.substr(0, end)}, prefix / "bin", ignored)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

void write_project(const fs::path& folder) {
  const std::string name = folder.filename().string();
  check_name(name);
  std::error_code failure;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), failure);
  if (!failure && !fs::create_directory(folder, failure) && !failure)
    throw CLI::ValidationError("NAME", fmt::format("{} exists already; nothing was written", folder.string()));
  if (failure)
    situ::throw_error(situ::errc::bad_file, fmt::format("cannot make {}: {}", folder.string(), failure.message()));

  const fs::path prefix = own_prefix();
  const bool is_found = !is_install(prefix) || is_on_path(prefix);
  const std::string option = is_found ? "" : fmt::format(" -DCMAKE_PREFIX_PATH={}", prefix.string());
  try {
    for (const project_file& each : project_files) {
      std::string text{each.text};
      replace(text, "@NAME@", name);
      replace(text, "@VERSION@", fmt::format("{}.{}", SITU_VERSION_MAJOR, SITU_VERSION_MINOR));
      replace(text, "@PREFIX_OPTION@", option);
      situ::detail::write_file((folder / (each.name == "gitignore" ? ".gitignore" : each.name)).string(), text);
    }
  } catch (...) {
    fs::remove_all(folder, failure);  // the project is written completely or not at all
    throw;
  }

  print_out("{} is ready. Build and run it:\n\n  cd {}\n", folder.string(), folder.string());
  if (!is_install(prefix))  // a project finds an install only
    print_out(
        "  cmake --build {0} --target situ_core && cmake --install {0} --component core --prefix ~/situ\n"
        "  export PATH=~/situ/bin:$PATH\n",
        prefix.string());
  print_out("  cmake -B build{} && cmake --build build\n  {} run -n 4 build/{}\n  ctest --test-dir build\n", option,
            is_found ? "situ" : (prefix / "bin/situ").string(), name);
}

}  // namespace

void add_new_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("new", "Write a project that builds, runs and tests itself");
  auto folder = std::make_shared<std::string>();
  command->add_option("NAME", *folder, "Folder to make; its last part names the program")->required()->type_name("");
  command->footer(new_examples);
  command->callback([folder] {
    fs::path path{*folder};
    if (!path.has_filename()) path = path.parent_path();  // sums/
    write_project(path);
  });
}
