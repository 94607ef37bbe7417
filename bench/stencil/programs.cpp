// Programs that somebody else has built: OPS's CloverLeaf with OPS, by hand, and through compat/ops. They are in no
// registry, so the user of the benchmark gives a folder that holds them: CASE/SUBJECT is a program or a script that
// prints its main loop's seconds as the last number of the last line with the word "wall" in it, as CloverLeaf does.
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

// Seconds that a program says it took. It runs in its own folder.
double run_program(const fs::path& program) {
  const std::string command =
      "cd '" + program.parent_path().string() + "' && exec './" + program.filename().string() + "' 2>&1";
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
  sampler samples{s, case_name};
  samples.repeat([&] {
    std::map<std::string, double> ns;
    for (const auto& c : all) {
      if (fs::exists(folder / c.subject) && !ns.contains(c.subject))
        ns[c.subject] = run_program(folder / c.subject) * 1e9;
    }
    if (ns.empty())
      throw std::runtime_error{folder.string() + ": holds no program of a name that docs/benchmarks.md gives"};
    for (const auto& c : all) {
      if (ns.contains(c.subject) && ns.contains(c.counterpart)) samples.print(c.row, ns[c.subject], ns[c.counterpart]);
    }
  });
}

}  // namespace stencil_bench
