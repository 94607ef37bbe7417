#include "devito.h"

#include "rival_sources.h"
#include "rivals.h"
#include "subject_run.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* version = "4.8.23";
constexpr const char* script = "rivals/devito_stencil.py";

// Beside what other programs keep for this user.
fs::path environment_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const fs::path base =
      cache != nullptr && *cache != '\0' ? fs::path{cache} : fs::path{home ? home : "/tmp"} / ".cache";
  return base / "situ" / (std::string{"devito-"} + version);
}

fs::path python() { return environment_folder() / "bin/python"; }

bool is_installed() {
  return access(python().c_str(), X_OK) == 0 && run_quietly({python().string(), "-c", "import devito"}) == 0;
}

// Debian's python first: its venv module is the packaged one.
bool install() {
  const fs::path folder = environment_folder();
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  for (const char* const from : {"/usr/bin/python3", "python3"})
    if (run_quietly({from, "-m", "venv", "--clear", folder.string()}) == 0)
      return run_quietly({python().string(), "-m", "pip", "install", "--quiet", std::string{"devito=="} + version}) ==
             0;
  return false;
}

}  // namespace

bool prepare_devito(const fs::path& directory, bool may_install, const std::function<void(const std::string&)>& say) {
  const auto skip = [&](const std::string& why) {
    say("devito is skipped: " + why);
    return false;
  };
  if (!is_installed()) {
    if (!may_install) return skip("it is not in " + environment_folder().string() + ", and --no-install");
    say("installing Devito from PyPI into " + environment_folder().string() + " (--no-install goes without)");
    if (!install() || !is_installed())
      return skip("it could not be installed: it needs python3-venv (Debian) and PyPI");
  }
  write_rival_sources(directory);
  return true;
}

std::vector<std::pair<std::string, std::string>> devito_environment(const fs::path& directory) {
  return {{"SITU_BENCH_DEVITO", python().string()}, {"SITU_BENCH_DEVITO_SCRIPT", (directory / script).string()}};
}

subject_terms devito_terms() {
  return {"", std::string{"Devito "} + version +
                  " from PyPI, language openmp, its own choice of blocks; 2 threads bound to processors, "
                  "malloc with huge pages; the flags of Situ's kernels added to its own"};
}

}  // namespace situ::bench
