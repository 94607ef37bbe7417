// Programs that somebody else has built: OPS's CloverLeaf with OPS, by hand, and through compat/ops. They are in no
// registry, so the user of the benchmark gives a folder that holds them: CASE/SUBJECT is a program or a script that
// prints its main loop's seconds as the last number of the last line with the word "wall" in it, as CloverLeaf does. It
// gets the arguments in SUBJECT.args, where that is there. Of SUBJECT@ONE, SUBJECT@ANOTHER the fastest counts.
// SUBJECT.txt says in words how it was built.
#include "measure.h"

#include "os/child.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace stencil_bench {
namespace {

namespace fs = std::filesystem;
namespace os = situ::os;

// What a program has told.
struct outcome {
  double seconds = 0;              // of its main loop
  double late_seconds = 0;         // from the line of its tenth step to that of its last one; 0: it prints none
  std::vector<std::string> lines;  // all that it has printed
};

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

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

// The words that run a program in its folder: it writes each line at once, and has the arguments in the file beside it.
std::vector<std::string> words_of(const fs::path& program) {
  std::vector<std::string> words{"stdbuf", "-oL", "./" + program.filename().string()};
  std::ifstream file{program.string() + ".args"};
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

// When lines come that begin with "Step N", as CloverLeaf prints one within each step.
class step_clock {
 public:
  void see(const std::string& line) {
    static const std::regex step{R"(^ *step +([0-9]+) )"};
    std::smatch found;
    const std::string text = lower_case(line);
    if (!std::regex_search(text, found, step)) return;
    const auto now = std::chrono::steady_clock::now();
    if (std::stoi(found[1]) == first_step) first_ = now;
    last_ = now;
  }
  [[nodiscard]] double late_seconds() const {
    return first_ ? std::chrono::duration<double>(last_ - *first_).count() : 0;
  }

 private:
  static constexpr int first_step = 10;
  std::optional<std::chrono::steady_clock::time_point> first_;
  std::chrono::steady_clock::time_point last_;
};

// Starts a program in its own folder, its OpenMP threads bound if `bind`; all that it writes goes to one stream.
// setting: a variable of its environment, or empty.
os::child start(const fs::path& program, bool bind, const std::string& setting, const os::output_capture& to) {
  std::vector<std::string> set_here;
  if (!setting.empty()) set_here.push_back(setting);
  if (bind) set_here.insert(set_here.end(), {"OMP_PROC_BIND=true", "OMP_PLACES=threads"});
  std::vector<std::string_view> names;
  for (const std::string& each : set_here) names.push_back(std::string_view{each}.substr(0, each.find('=')));
  std::vector<std::string> variables = os::own_environment(names);
  variables.insert(variables.end(), set_here.begin(), set_here.end());
  const os::exec_texts arguments{words_of(program)}, environment{std::move(variables)};
  const std::string folder = program.parent_path().string();
  const auto in_child = [&] { return ::chdir(folder.c_str()) == 0; };
  os::start_failures failures;
  if (!to || !failures) return {};
  os::child started = os::child::start({.file = "stdbuf",
                                        .arguments = arguments,
                                        .environment = &environment,
                                        .is_in_path = true,
                                        .output = to.output_end(),
                                        .errors = to.output_end()},
                                       {.in_child = in_child}, failures);
  return started && failures.wait() ? os::child{} : std::move(started);
}

outcome run_program(const fs::path& program, bool bind, const std::string& setting = {}) {
  os::output_capture streams;
  os::child running = start(program, bind, setting, streams);
  if (!running) throw std::runtime_error{program.string() + ": cannot be started"};
  outcome told;
  step_clock steps;
  std::string wall;
  const auto take_lines = [&] {
    std::string& text = streams.output();
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      std::string line = text.substr(begin, end - begin);
      steps.see(line);
      if (lower_case(line).find("wall") != line.npos) wall = line;
      if (!line.empty()) told.lines.push_back(std::move(line));
    }
    text.erase(0, begin);
    return false;
  };
  (void)streams.read_until_closed(take_lines);
  take_lines();
  if (const os::exit_status end = running.wait(); !end.is_success())
    throw std::runtime_error{program.string() +
                             (end.signal != 0 ? ": killed by signal " + std::to_string(end.signal)
                                              : ": ended with status " + std::to_string(end.code)) +
                             "; its last line: " + (told.lines.empty() ? "" : told.lines.back())};
  if (wall.empty())
    throw std::runtime_error{program.string() + ": prints no line with the word 'wall' and its seconds"};
  told.seconds = seconds_in(wall, program);
  told.late_seconds = steps.late_seconds();
  return told;
}

// The programs that stand for a subject: SUBJECT itself, and every SUBJECT@SOMETHING, as ops_mended@16 for a cache
// size.
std::vector<fs::path> programs_of(const fs::path& folder, const std::string& subject) {
  std::vector<fs::path> found;
  for (const auto& each : fs::directory_iterator{folder}) {
    const std::string name = each.path().filename().string();
    const auto extension = each.path().extension();
    if (extension != ".txt" && extension != ".args" && (name == subject || name.starts_with(subject + "@")))
      found.push_back(each.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The fastest of them. A rival that fails is told of, and left out from then on; the minutes of the others still count.
std::optional<outcome> run_fastest(const fs::path& folder, const std::string& subject, std::set<fs::path>& failed) {
  std::optional<outcome> best;
  for (const fs::path& program : programs_of(folder, subject)) {
    if (failed.contains(program)) continue;
    try {
      outcome told = run_program(program, is_rival(subject));
      if (!best || told.seconds < best->seconds) best = std::move(told);
    } catch (const std::runtime_error& failure) {
      if (!is_rival(subject)) throw;
      std::fprintf(stderr, "left out: %s\n", failure.what());
      failed.insert(program);
    }
  }
  return best;
}

// A row: the time of one program beside that of another.
struct comparison {
  const char* row;
  const char* subject;
  const char* counterpart;
};

// Tiles given by hand, in a first sweep over all and then over the best two: a sweep takes minutes.
class tile_sweep {
 public:
  tile_sweep(const fs::path& program, bool is_3d) : program_{program} {
    if (is_3d)
      tiles_ = {"0,16,8", "0,32,8", "0,64,8", "0,32,16", "0,64,16", "0,32,4", "0,64,4", "0,0,4"};
    else
      tiles_ = {"0,16", "0,32", "0,64", "0,128", "256,32", "512,16", "512,32", "512,64", "1024,32"};
  }
  // Seconds from the tenth step on in the best of them.
  double best() {
    std::vector<std::pair<double, std::string>> times;
    for (const auto& tile : tiles_)
      times.emplace_back(run_program(program_, false, "SITU_STENCIL_TILE=" + tile).late_seconds, tile);
    std::sort(times.begin(), times.end());
    tiles_.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(2, times.size()); ++i) tiles_.push_back(times[i].second);
    return times.front().first;
  }

 private:
  fs::path program_;
  std::vector<std::string> tiles_;
};

// What the loops of a program would take if each moved its bytes as fast as memory gives them to a loop over as many
// arrays that computes nothing: from the report that it prints.
class bytes_bound {
 public:
  explicit bytes_bound(int count) : raw_{std::size_t{1} << 23, count} {}
  // 0 without a report.
  [[nodiscard]] double seconds(const std::vector<std::string>& report) {
    static const std::regex row{R"(^(\S+) +([0-9]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9]+) +([0-9]+) +([0-9]+)$)"};
    double sum = 0;
    for (const auto& line : report) {
      std::smatch found;
      if (!std::regex_match(line, found, row)) continue;
      const auto number = [&](std::size_t n) { return std::stoi(found[n]); };
      if (number(6) + number(7) + number(8) > 0)
        sum += std::stod(found[4]) * 1e9 * seconds_of_byte(number(6), number(7), number(8));
    }
    return sum;
  }

 private:
  double seconds_of_byte(int read, int written, int updated) {
    const auto [it, is_new] = known_.try_emplace({read, written, updated});
    if (is_new)
      it->second = raw_.run(read, written, updated) / static_cast<double>(raw_.points() * sizeof(double)) /
                   (read + written + 2 * updated);
    return it->second;
  }
  raw_mix raw_;
  std::map<std::tuple<int, int, int>, double> known_;
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
  const bool is_3d = std::string_view{case_name} == "cloverleaf_192";
  const bool is_large = is_3d || std::string_view{case_name} == "cloverleaf_3840";
  std::optional<tile_sweep> sweep;
  if (is_large && fs::exists(folder / "tiled")) sweep.emplace(folder / "tiled", is_3d);
  std::vector<std::string> report;  // of plain's loops
  if (is_large && fs::exists(folder / "plain"))
    report = run_program(folder / "plain", false, "SITU_STENCIL_REPORT=1").lines;
  std::set<fs::path> failed;
  sampler samples{s, case_name};
  samples.repeat([&] {
    std::map<std::string, outcome> told;
    for (const auto& c : all) {
      if (told.contains(c.subject)) continue;
      if (auto one = run_fastest(folder, c.subject, failed)) told[c.subject] = std::move(*one);
    }
    if (told.empty())
      throw std::runtime_error{folder.string() + ": holds no program of a name that docs/benchmarks.md gives"};
    for (const auto& c : all) {
      if (told.contains(c.subject) && told.contains(c.counterpart))
        samples.print(c.row, told[c.subject].seconds * 1e9, told[c.counterpart].seconds * 1e9);
    }
    if (const double bound = bytes_bound{threads}.seconds(report); bound > 0)
      samples.print("plain_bytes", told["plain"].seconds * 1e9, bound * 1e9);
    if (sweep && told["tiled"].late_seconds > 0) {
      const double best = sweep->best() * 1e9;
      samples.print("tiled_by_hand", best, best);
      samples.print("tiled_chosen", told["tiled"].late_seconds * 1e9, best);
    }
  });
}

}  // namespace stencil_bench
