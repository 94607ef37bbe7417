// Programs that somebody else has built: OPS's CloverLeaf with OPS, by hand, and through compat/ops. They are in no
// registry, so the user of the benchmark gives a folder that holds them: CASE/SUBJECT is a program or a script that
// prints its main loop's seconds as the last number of the last line with the word "wall" in it, as CloverLeaf does. Of
// SUBJECT@ONE, SUBJECT@ANOTHER the fastest counts. SUBJECT.txt says in words how it was built.
#include "measure.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string_view>

namespace stencil_bench {
namespace {

namespace fs = std::filesystem;

double seconds_in(const std::string& line, const fs::path& program) {
  static const std::regex number{R"(([0-9]+\.?[0-9]*([eE][-+]?[0-9]+)?)[^0-9]*$)"};
  std::smatch found;
  if (!std::regex_search(line, found, number))
    throw std::runtime_error{program.string() + ": no number in its line '" + line + "'"};
  return std::stod(found[1]);
}

// Bound to processors, as Situ's threads bind themselves (an OpenMP that bound Situ's programs would leave them one
// processor).
bool is_rival(const std::string& subject) { return !subject.starts_with("plain") && !subject.starts_with("tiled"); }

// Seconds that a program says it took. It runs in its own folder, its OpenMP threads bound if `bind`.
double run_program(const fs::path& program, bool bind) {
  const std::string command =
      std::string{bind ? "OMP_PROC_BIND=true OMP_PLACES=threads; export OMP_PROC_BIND OMP_PLACES; " : ""} + "cd '" +
      program.parent_path().string() + "' && exec './" + program.filename().string() + "' 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error{program.string() + ": cannot be started"};
  std::string line, told, last;
  for (int c; (c = std::fgetc(pipe)) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    std::string lower = line;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
    if (lower.find("wall") != lower.npos) told = line;
    if (!line.empty()) last = line;
    line.clear();
  }
  if (const int status = pclose(pipe); status != 0)
    throw std::runtime_error{program.string() + ": ended with status " + std::to_string(status >> 8) +
                             "; its last line: " + last};
  if (told.empty())
    throw std::runtime_error{program.string() + ": prints no line with the word 'wall' and its seconds"};
  return seconds_in(told, program);
}

// The programs that stand for a subject: SUBJECT itself, and every SUBJECT@SOMETHING, as ops_mended@16 for a cache
// size.
std::vector<fs::path> programs_of(const fs::path& folder, const std::string& subject) {
  std::vector<fs::path> found;
  for (const auto& each : fs::directory_iterator{folder}) {
    const std::string name = each.path().filename().string();
    if (each.path().extension() != ".txt" && (name == subject || name.starts_with(subject + "@")))
      found.push_back(each.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The seconds of the fastest of them.
std::optional<double> run_fastest(const fs::path& folder, const std::string& subject) {
  std::optional<double> least;
  for (const fs::path& program : programs_of(folder, subject)) {
    const double seconds = run_program(program, is_rival(subject));
    least = std::min(least.value_or(seconds), seconds);
  }
  return least;
}

// A row: the time of one program beside that of another.
struct comparison {
  const char* row;
  const char* subject;
  const char* counterpart;
};

}  // namespace

void measure_programs(const session& s, const char* case_name) {
  static const comparison all[] = {
      {"by_hand", "by_hand", "by_hand"},
      {"ops", "ops", "ops"},
      {"plain", "plain", "ops"},
      {"plain_by_hand", "plain", "by_hand"},
      {"ops_tiled", "ops_tiled", "ops_tiled"},
      {"ops_mended", "ops_mended", "ops_tiled"},
      {"tiled", "tiled", "ops_tiled"},
      {"tiled_mended", "tiled", "ops_mended"},
      {"ops_developer", "ops_developer", "ops_developer"},
      {"plain_developer", "plain", "ops_developer"},
  };
  const fs::path folder = fs::path{s.programs} / case_name;
  if (s.programs.empty() || !fs::is_directory(folder)) return;
  // For OpenMP's programs and for Situ's.
  const char* const count = std::string_view{case_name} == "cloverleaf_960" ? "1" : "2";
  for (const char* const variable : {"OMP_NUM_THREADS", "SITU_STENCIL_THREADS"}) setenv(variable, count, 1);
  // Situ's datasets have huge pages: so have the rivals', wherever they get their memory by malloc.
  setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
  sampler samples{s, case_name};
  samples.repeat([&] {
    std::map<std::string, double> ns;
    for (const auto& c : all) {
      if (ns.contains(c.subject)) continue;
      if (const auto seconds = run_fastest(folder, c.subject)) ns[c.subject] = *seconds * 1e9;
    }
    if (ns.empty())
      throw std::runtime_error{folder.string() + ": holds no program of a name that docs/results/README.md gives"};
    for (const auto& c : all) {
      if (ns.contains(c.subject) && ns.contains(c.counterpart)) samples.print(c.row, ns[c.subject], ns[c.counterpart]);
    }
  });
}

}  // namespace stencil_bench
