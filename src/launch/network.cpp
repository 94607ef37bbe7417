#include "launch/network.h"

#include <situ/base/error_code.h>
#include <situ/version.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace situ::detail::cluster {
namespace {

// UCX reads these variables when it is loaded: the handlers of signals and of memory belong to the program, and to
// Situ. A value that the user has set stays.
class while_loading {
 public:
  while_loading() {
    for (const auto& [name, value] : wanted_) {
      if (std::getenv(name) != nullptr) continue;
      ::setenv(name, value, 1);
      set_.push_back(name);
    }
  }
  ~while_loading() {
    for (const char* const name : set_) ::unsetenv(name);
  }
  while_loading(const while_loading&) = delete;
  while_loading& operator=(const while_loading&) = delete;

 private:
  static constexpr std::array<std::pair<const char*, const char*>, 2> wanted_{
      {{"UCX_HANDLE_ERRORS", "none"}, {"UCX_MEM_EVENTS", "n"}}};
  std::vector<const char*> set_;
};

// The folders to look in; one that the environment names is the only one.
std::vector<std::string> folders() {
  if (const char* const given = std::getenv(network_folder_variable)) return {given};
  std::vector<std::string> all;
  std::array<char, PATH_MAX> program{};
  if (::readlink("/proc/self/exe", program.data(), program.size() - 1) > 0)
    all.push_back(
        (std::filesystem::path{program.data()}.parent_path().parent_path() / SITU_LIBRARY_DIRECTORY / "situ").string());
  all.emplace_back(SITU_INSTALLED_LIBEXEC);
  return all;
}

struct opened_network {
  const network_functions* functions;
  std::string folder;
};

opened_network open_in(const std::string& folder, const std::string& file) {
  const while_loading environment;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw_error(errc::bad_launch, fmt::format("a job over several hosts needs {}: {}", file, ::dlerror()));
  const auto entry = reinterpret_cast<decltype(&situ_network_functions)>(::dlsym(library, network_entry_name));
  const network_functions* const functions = entry == nullptr ? nullptr : entry();
  if (functions == nullptr || functions->version != SITU_VERSION)
    throw_error(errc::version_mismatch, fmt::format("{} is of another version of Situ than the program", file));
  return {functions, folder};
}

opened_network find_network() {
  const std::vector<std::string> all = folders();
  for (const std::string& folder : all) {
    const std::string file = folder + "/" + network_library_name;
    if (::access(file.c_str(), F_OK) == 0) return open_in(folder, file);
  }
  const bool is_named = std::getenv(network_folder_variable) != nullptr;
  throw_error(errc::bad_launch,
              fmt::format("a job over several hosts needs {}, which is not in {}{}: install Situ there, from a build "
                          "with UCX (libucx-dev), or set {} to the folder that has it",
                          network_library_name, fmt::join(all, " or "),
                          is_named ? fmt::format(" ({} names it)", network_folder_variable) : std::string{},
                          network_folder_variable));
}

const opened_network& network() {
  static const opened_network opened = find_network();
  return opened;
}

}  // namespace

const network_functions& open_network() { return *network().functions; }
const std::string& network_folder() { return network().folder; }

}  // namespace situ::detail::cluster
