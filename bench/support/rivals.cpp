#include "rivals.h"

#include "devito.h"
#include "os/output_file.h"
#include "recorded_flags.h"
#include "rival_sources.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;

struct rival {
  std::string_view subject;
  std::string_view source;  // file name below rivals/
  std::string_view compiler;
  std::string_view launcher;          // empty: the program is started as it is
  std::string_view header;            // that must be there; empty: none
  std::vector<std::string> options;   // besides those that every subject gets
  std::vector<std::string> packages;  // Debian's
  std::string_view words = {};        // about how it is run
};

// Those of this build of Situ (its protection of the stack apart, which only costs), and those of our own subjects.
std::vector<std::string> equal_flags() {
  std::istringstream build{SITU_BENCH_FLAGS};
  std::vector<std::string> flags;
  for (std::string flag; build >> flag;) flags.push_back(flag);
  flags.insert(flags.end(), {"-falign-loops=64", "-frecord-gcc-switches"});
  return flags;
}

const std::vector<std::string> c_options{"-std=gnu11"};
const std::vector<std::string> cpp_options{"-std=c++20", "-pthread"};
constexpr std::string_view mpi_words =
    "; one-sided access by osc sm, its fastest way on one host; ranks pin themselves as Situ's places do";
const std::array rivals{
    rival{"openmpi", "openmpi_core.c", "mpicc", "mpirun", "", c_options, {"openmpi-bin", "libopenmpi-dev"}, mpi_words},
    rival{"oshmem", "oshmem_core.c", "oshcc", "oshrun", "", c_options, {"openmpi-bin", "libopenmpi-dev"}, mpi_words},
    rival{"boost",
          "boost_graph.cpp",
          "c++",
          "",
          "/usr/include/boost/archive/binary_oarchive.hpp",
          cpp_options,
          {"libboost-serialization-dev"}},
    rival{"cereal", "cereal_graph.cpp", "c++", "", "/usr/include/cereal/cereal.hpp", cpp_options, {"libcereal-dev"}},
};

std::string packages_text(const rival& r) {
  std::string text;
  for (const std::string& package : r.packages) text += (text.empty() ? "" : ", ") + package;
  return text;
}

const rival* find_rival(std::string_view subject) {
  for (const rival& r : rivals)
    if (r.subject == subject) return &r;
  return nullptr;
}

bool on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories{path == nullptr ? "" : path};
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((fs::path{directory} / program).c_str(), X_OK) == 0) return true;
  return false;
}

bool is_installed(const rival& r) {
  return on_path(r.compiler) && (r.launcher.empty() || on_path(r.launcher)) &&
         (r.header.empty() || access(std::string{r.header}.c_str(), R_OK) == 0);
}

bool install_packages(const rival& r) {
  std::vector<std::string> as_root;
  if (geteuid() != 0) as_root = {"sudo", "-n"};
  const auto apt = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command = as_root;
    command.insert(command.end(), {"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"});
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_quietly(command) == 0;
  };
  std::vector<std::string> install{"install", "-y", "--no-install-recommends"};
  install.insert(install.end(), r.packages.begin(), r.packages.end());
  return apt(install) || (apt({"update"}) && apt(install));
}

fs::path program_of(const rival& r, const fs::path& directory) {
  return directory / (std::string{r.subject} + "_rival");
}

}  // namespace

void write_rival_sources(const fs::path& directory) {
  for (const rival_source& source : rival_sources) {
    const fs::path path = directory / source.path;
    fs::create_directories(path.parent_path());
    situ::detail::write_file(path.string(), source.text);
  }
}

temporary_directory::temporary_directory(const fs::path& parent) {
  std::string pattern =
      ((parent.empty() ? fs::temp_directory_path() : fs::absolute(parent)) / "situ-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"situ bench: cannot make a directory " + pattern};
  path_ = pattern;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool is_rival(const std::string& subject) { return subject == "devito" || find_rival(subject) != nullptr; }

std::string package_with_version(const std::string& package) {
  const std::string version = output_of({"dpkg-query", "-W", "-f", "${Version}", package});
  return package + (version.empty() ? "" : " " + version);
}

subject_terms rival_terms(const std::string& subject, const fs::path& directory) {
  if (subject == "devito") return devito_terms();
  const rival& r = *find_rival(subject);
  std::string built =
      "bench/rivals/" + std::string{r.source} + ", compiled by " + std::string{r.compiler} + " against Debian's ";
  for (std::size_t i = 0; i < r.packages.size(); ++i)
    built += (i == 0 ? "" : ", ") + package_with_version(r.packages[i]);
  return {flags_text(program_of(r, directory)), built + std::string{r.words}};
}

bool prepare_rival(const std::string& subject, const fs::path& directory, bool may_install,
                   const std::function<void(const std::string&)>& say) {
  if (subject == "devito") return prepare_devito(directory, may_install, say);
  const rival& r = *find_rival(subject);
  const auto skip = [&](const std::string& why) {
    say(subject + " is skipped: " + why);
    return false;
  };
  if (!is_installed(r)) {
    if (!may_install)
      return skip("no " + std::string{on_path(r.compiler) && !r.header.empty() ? r.header : r.compiler} +
                  " (Debian: " + packages_text(r) + ") and --no-install");
    say("installing Debian's " + packages_text(r) + " for the rivals (--no-install goes without)");
    if (!install_packages(r) || !is_installed(r)) return skip("its packages could not be installed");
  }
  write_rival_sources(directory);
  const std::string source = (directory / "rivals" / r.source).string();
  std::vector<std::string> compile{std::string{r.compiler}};
  compile.insert(compile.end(), r.options.begin(), r.options.end());
  const std::vector<std::string> equal = equal_flags();
  compile.insert(compile.end(), equal.begin(), equal.end());
  compile.insert(compile.end(), {"-o", program_of(r, directory).string(), source});
  if (r.subject == "boost") compile.emplace_back("-lboost_serialization");
  if (run_quietly(compile) != 0) return skip(std::string{r.compiler} + " could not compile its program");
  return true;
}

subject_request rival_request(const std::string& subject, const fs::path& directory, unsigned ranks) {
  const rival& r = *find_rival(subject);
  subject_request request;
  if (r.launcher.empty()) {
    request.command = {program_of(r, directory).string()};
    return request;
  }
  // The ranks pin themselves, as every subject's do. Of Open MPI's ways to carry one-sided access `sm` is the fastest
  // on one host (docs/benchmarks.md); more ranks than processors must give way while they wait.
  request.command = {std::string{r.launcher},
                     "--allow-run-as-root",
                     "--oversubscribe",
                     "--bind-to",
                     "none",
                     "-n",
                     std::to_string(ranks),
                     "--mca",
                     "osc",
                     "sm",
                     "--mca",
                     "mpi_yield_when_idle",
                     ranks > 2 ? "1" : "0"};
  for (const char* name : {"SITU_BENCH_PAGE", "SITU_BENCH_CASES", "SITU_BENCH_SECONDS"})
    request.command.insert(request.command.end(), {"-x", name});
  if (subject == "oshmem") request.command.insert(request.command.end(), {"-x", "SHMEM_SYMMETRIC_SIZE=16M"});
  request.command.push_back(program_of(r, directory).string());
  request.environment = {{"TMPDIR", directory.string()}};  // what a crashing rival leaves goes with the directory
  request.environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", directory.string());
  return request;
}

}  // namespace situ::bench
