// Task graphs beside those of others, for `situ bench tasks`; by hand: situ run -n 1 situ_bench_tasks
// (bench/support/job_samples.h).
//
// Each subject is a program of its own beside this one, since their runtimes would be in each other's way: patterns.h
// says what they run. Those that are not built, since their library is not installed, are left out.
#include "slow_memory.h"
#include "support/job_samples.h"

#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace job_bench;
namespace fs = std::filesystem;

struct subject {
  const char* name;
  const char* program;
  const char* loads = nullptr;  // in front of what it is linked with
};

constexpr std::array<subject, 5> subjects{{{"openmp", "situ_bench_tasks_openmp"},
                                           {"openmp_llvm", "situ_bench_tasks_openmp", "libomp.so.5"},
                                           {"tbb", "situ_bench_tasks_tbb"},
                                           {"starpu", "situ_bench_tasks_starpu"},
                                           {"situ", "situ_bench_tasks_situ"}}};

// ns a unit, as the program prints it; nothing where it cannot be run here. Ends this program where the other fails.
std::optional<double> run(const subject& which, const std::string& arguments) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / which.program;
  if (!fs::exists(program)) return std::nullopt;
  std::string command = "'" + program.string() + "' " + arguments;
  if (which.loads != nullptr) {
    void* const library = ::dlopen(which.loads, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    ::dlclose(library);
    command = std::string{"LD_PRELOAD="} + which.loads + " " + command;
  }
  std::FILE* const output = ::popen(command.c_str(), "r");
  double ns = 0;
  const bool is_read = output != nullptr && std::fscanf(output, "%lf", &ns) == 1;
  if (output == nullptr || ::pclose(output) != 0 || !is_read) {
    std::fprintf(stderr, "situ_bench_tasks: %s fails\n", command.c_str());
    std::exit(1);
  }
  return ns;
}

void measure(const char* name, std::size_t size, int times) {
  std::vector<samples> all;
  for (const subject& each : subjects) all.push_back({each.name});
  for (int i = 0; i < times; ++i)
    for (std::size_t s = 0; s < subjects.size(); ++s)
      if (const auto ns = run(subjects[s], std::string{name} + " " + std::to_string(size))) all[s].ns.push_back(*ns);
  print(name, all);
}

// The launcher binds a place to a core; its threads, and the programs that it starts, are to have all of them.
void unbind() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);  // the kernel leaves out what this process may not use
  if (::sched_setaffinity(0, sizeof all, &all) != 0) {
    std::perror("situ_bench_tasks: its processors");
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  unbind();
  const bool quick = is_quick();
  const int times = quick ? 1 : 5;
  if (is_wanted("independent")) measure("independent", quick ? 10'000 : 1'000'000, times);
  if (is_wanted("chained")) measure("chained", quick ? 2'000 : 100'000, times);
  if (is_wanted("wavefront")) measure("wavefront", quick ? 2'000 : 100'000, times);
  if (is_wanted("cholesky_64")) measure("cholesky_64", quick ? 512 : 4096, times);
  if (is_wanted("cholesky_32")) measure("cholesky_32", quick ? 256 : 4096, times);
  if (is_wanted("slow_memory")) task_bench::measure_slow_memory();
  print_end();
}
