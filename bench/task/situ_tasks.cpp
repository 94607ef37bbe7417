// Task graphs beside those of others, for `situ bench tasks`; by hand: situ run -n 1 situ_bench_tasks
// (bench/support/job_samples.h).
//
// Each subject is a program of its own beside this one, since their runtimes would be in each other's way: patterns.h
// says what they run. Those that are not built, since their library is not installed, are left out.
#include "slow_memory.h"

#include "os/child.h"
#include "support/job_samples.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
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

// What runs the units one after the other: half of its time is the bound of two threads.
constexpr subject in_order{"bound", "situ_bench_tasks_in_order"};

struct outcome {
  double ns;           // a unit
  std::string result;  // of all
};

// As the program prints it; nothing where it cannot be run here. Ends this program where the other fails.
std::optional<outcome> run(const subject& which, const std::string& arguments) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / which.program;
  if (!fs::exists(program)) return std::nullopt;
  std::string setting;
  std::vector<std::string_view> set_here;
  if (which.loads != nullptr) {
    void* const library = ::dlopen(which.loads, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    ::dlclose(library);
    setting = std::string{"LD_PRELOAD="} + which.loads;
    set_here.emplace_back("LD_PRELOAD");
  }
  std::vector<std::string> variables = situ::os::own_environment(set_here);
  if (!setting.empty()) variables.push_back(setting);
  std::vector<std::string> words{program.string()};
  std::istringstream from{arguments};
  for (std::string word; from >> word;) words.push_back(word);
  const situ::os::exec_texts texts{std::move(words)}, environment{std::move(variables)};
  const auto ended =
      situ::os::run_and_capture({.file = program.c_str(), .arguments = texts, .environment = &environment});
  double ns = 0;
  char result[64];
  if (!ended || !ended->end.is_success() || std::sscanf(ended->output.c_str(), "%lf %63s", &ns, result) != 2) {
    std::fprintf(stderr, "situ_bench_tasks: %s '%s' %s fails\n", setting.c_str(), program.c_str(), arguments.c_str());
    std::exit(1);
  }
  return outcome{ns, result};
}

void measure(const char* name, std::size_t size, int times) {
  std::vector<samples> all;
  for (const subject& each : subjects) all.push_back({each.name});
  for (int i = 0; i < times; ++i)
    for (std::size_t s = 0; s < subjects.size(); ++s)
      if (const auto got = run(subjects[s], std::string{name} + " " + std::to_string(size)))
        all[s].ns.push_back(got->ns);
  print(name, all);
}

// The counterpart of each sample is the fastest of the others; each result is held against that of one after the other.
void measure_cholesky(const char* name, std::size_t size, int times) {
  const std::string arguments = std::string{name} + " " + std::to_string(size);
  std::vector<samples> all{{in_order.name}};
  for (const subject& each : subjects) all.push_back({each.name});
  std::vector<double> best_other;
  for (int i = 0; i < times; ++i) {
    const outcome alone = run(in_order, arguments).value();
    all[0].ns.push_back(alone.ns / 2);
    double best = 0;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      const auto got = run(subjects[s], arguments);
      if (!got) continue;
      if (got->result != alone.result) {
        std::fprintf(stderr, "situ_bench_tasks: %s of %s is wrong\n", name, subjects[s].name);
        std::exit(1);
      }
      all[s + 1].ns.push_back(got->ns);
      if (std::string_view{subjects[s].name} != "situ" && (best == 0 || got->ns < best)) best = got->ns;
    }
    best_other.push_back(best == 0 ? all[0].ns.back() : best);
  }
  print(name, all, best_other);
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  job_bench::unbind();
  const bool quick = is_quick();
  const int times = quick ? 1 : 5;
  if (is_wanted("independent")) measure("independent", quick ? 10'000 : 1'000'000, times);
  if (is_wanted("short_graphs")) measure("short_graphs", quick ? 6'400 : 128'000, times);
  if (is_wanted("chained")) measure("chained", quick ? 2'000 : 100'000, times);
  if (is_wanted("wavefront")) measure("wavefront", quick ? 2'000 : 100'000, times);
  if (is_wanted("cholesky_64")) measure_cholesky("cholesky_64", quick ? 512 : 4096, times);
  if (is_wanted("cholesky_32")) measure_cholesky("cholesky_32", quick ? 256 : 4096, times);
  if (is_wanted("slow_memory")) task_bench::measure_slow_memory();
  print_end();
}
