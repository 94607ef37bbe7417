// How fast is bit-contiguous allocation beside malloc? The experiments of Leidel, Wang and Chen (MCHPC 2017, section 5)
// and two of mixed shapes, as JSON: situ_bench_pim_allocators [ROUNDS [CASE...]].
//
//   full_horizontal, full_vertical  table 1: 1,024 blocks of 1 MiB, or 128 of a whole subarray, fill the device of
//                                   table 3; in a fresh process, and again on the reused heap
//   malloc_test                     table 2: pairs of allocation and free, by 1 to 8 threads
//   mixed                           vertical and horizontal shapes at a fill of 80 %
//   vectors                         the same at 90 %, where a vector may be in pieces: 12,000 from the
//                                   empty device on
//
// Subjects: bmem; bmem without thread caches; the paper's algorithm; malloc, and what LD_PRELOAD makes of it. Each
// measurement is a process of its own, and the subjects take turns, round after round. Wall-clock time, and the
// threads' own time, on which others on the machine have less influence.
#include <situ/base/error.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "os/child.h"
#include "pim/workloads.h"

namespace {

using namespace pim_bench;
using situ::detail::json;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// --- one measurement, in a process of its own: --measure CASE SUBJECT [ARGUMENTS] ---

struct request {
  std::string what;
  std::string subject;
  std::vector<std::string> arguments;
};

// The paper's algorithm takes a thousand times as long. Threads need milliseconds until they are on all processors.
int steps_of(const request& asked, int steps) { return asked.subject == "paper" ? steps / 1000 : steps; }

template <class Subject>
figures measure(const request& asked, Subject& subject) {
  const bool is_paper = asked.subject == "paper";
  if (asked.what == "full_horizontal")
    return fill_device(subject, 1024, mebibyte, dimension::horizontal, is_paper ? 0 : 10);
  if (asked.what == "full_vertical") {
    const bool is_malloc = std::is_same_v<Subject, malloc_subject>;
    return fill_device(subject, 128, is_malloc ? 8 * mebibyte : 128, dimension::vertical, is_paper ? 0 : 10);
  }
  if (asked.what == "malloc_test") {
    const auto along = asked.arguments.at(0) == "vertical" ? dimension::vertical : dimension::horizontal;
    return pairs(subject, std::stoul(asked.arguments.at(1)), along, std::stoi(asked.arguments.at(2)),
                 steps_of(asked, 2'000'000));
  }
  if (asked.what == "mixed") return mixed_shapes(subject, 0.8, asked.subject == "paper" ? 12'000 : 400'000);
  if (asked.what == "vectors") return vectors(subject, 0.9, 12'000);
  throw std::runtime_error{"no such case: " + asked.what};
}

figures measure(const request& asked) {
  if (asked.subject == "bmem" || asked.subject == "bmem_without_caches") {
    bmem_subject subject{asked.subject == "bmem"};
    return measure(asked, subject);
  }
  if (asked.subject == "paper") {
    exact_subject subject;
    return measure(asked, subject);
  }
  malloc_subject subject;
  return measure(asked, subject);
}

// Prints the library that malloc comes from, then a line for each figure.
int measure_here(const request& asked) {
  Dl_info from{};
  if (dladdr(reinterpret_cast<void*>(&std::malloc), &from) == 0) from.dli_fname = "unknown";
  std::printf("malloc %s\n", from.dli_fname);
  for (const figure& each : measure(asked)) std::printf("%s %.3f\n", each.name.c_str(), each.value);
  return EXIT_SUCCESS;
}

// --- all measurements, in turns ---

struct allocator {
  const char* name;
  const char* library;  // preloaded; null: none
};
constexpr allocator allocators[] = {{"bmem", nullptr},
                                    {"bmem_without_caches", nullptr},
                                    {"malloc", nullptr},
                                    {"jemalloc", "libjemalloc.so.2"},
                                    {"mimalloc", "libmimalloc.so.2"},
                                    {"tcmalloc", "libtcmalloc_minimal.so.4"},
                                    {"paper", nullptr}};

// The figures of one measurement, or nothing if the preloaded library is not installed.
std::optional<figures> run(const allocator& subject, const std::string& what, const std::vector<std::string>& more) {
  std::vector<std::string> words{"situ_bench_pim_allocators", "--measure", what, subject.name};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<std::string> variables = situ::os::own_environment(std::vector<std::string_view>{"LD_PRELOAD"});
  if (subject.library != nullptr) variables.push_back(std::string{"LD_PRELOAD="} + subject.library);
  const situ::os::exec_texts arguments{words};
  const situ::os::exec_texts environment{variables};
  const auto ended = situ::os::run_and_capture({.file = "/proc/self/exe",
                                                .arguments = arguments,
                                                .environment = &environment,
                                                .errors = situ::os::program::nothing});
  if (!ended || !ended->end.is_success()) throw std::runtime_error{what + " with " + subject.name + " has failed"};
  std::istringstream lines{ended->output};
  std::string name, library;
  lines >> name >> library;
  if (subject.library != nullptr && library.find(subject.library) == std::string::npos) return std::nullopt;
  figures found;
  for (double value = 0; lines >> name >> value;) found.push_back({name, value});
  return found;
}

struct experiment {
  std::string what;
  std::vector<std::string> arguments;
  bool has_all = true;  // else bmem alone

  [[nodiscard]] std::string name() const {
    std::string text = what;
    for (const std::string& each : arguments) text += "_" + each;
    return text;
  }
};

std::vector<experiment> experiments() {
  std::vector<experiment> all{{"full_horizontal", {}}, {"full_vertical", {}}};
  const auto add = [&](const char* along, std::initializer_list<const char*> sizes) {
    for (const char* const bytes : sizes)
      for (const char* const threads : {"1", "2", "4", "8"})
        all.push_back({"malloc_test", {along, bytes, threads}, std::string_view{threads} == "1"});
  };
  add("horizontal", {"8", "64", "128", "512", "1024", "4096"});
  add("vertical", {"8", "16", "32", "64", "128"});
  all.push_back({"mixed", {}});
  all.push_back({"vectors", {}});
  return all;
}

using samples = std::map<std::string, std::vector<double>>;  // by "EXPERIMENT SUBJECT FIGURE"

std::string key(const std::string& name, const std::string& subject, const std::string& figure) {
  return name + " " + subject + " " + figure;
}

samples run_all(const std::vector<experiment>& all, int rounds) {
  samples found;
  for (const experiment& each : all)
    for (int round = 0; round < rounds; ++round)
      for (const allocator& subject : allocators) {
        const bool is_paper = std::string_view{subject.name} == "paper";
        if (is_paper && round > 2) continue;
        if (!each.has_all && std::string_view{subject.name} != "bmem") continue;
        const auto of = run(subject, each.what, each.arguments);
        if (!of) continue;
        for (const auto& [name, value] : *of) found[key(each.name(), subject.name, name)].push_back(value);
      }
  return found;
}

json figure_list(const samples& found) {
  json list = json::array();
  for (const auto& [name, values] : found) {
    std::istringstream words{name};
    std::string what, subject, figure;
    words >> what >> subject >> figure;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    json each = json::array();
    for (const double value : values) each.push(value);
    list.push({{"experiment", what},
               {"subject", subject},
               {"figure", figure},
               {"median", median(values)},
               {"least", *least},
               {"most", *most},
               {"samples", std::move(each)}});
  }
  return list;
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

// The ratios that have aims: of medians; for threads, of the least wall-clock times, as others on the machine take
// processors away.
json ratio_list(const samples& found) {
  json list = json::array();
  const auto ratio_of = [&](auto of, const std::string& over, const std::string& under, const char* aim) {
    const auto a = found.find(over);
    const auto b = found.find(under);
    if (a == found.end() || b == found.end()) return;
    list.push({{"ratio", over + " / " + under}, {"value", of(a->second) / of(b->second)}, {"aim", aim}});
  };
  const auto ratio = [&](const std::string& over, const std::string& under, const char* aim) {
    ratio_of([](const std::vector<double>& values) { return median(values); }, over, under, aim);
  };
  for (const char* const full : {"full_horizontal", "full_vertical"}) {
    ratio(key(full, "bmem", "fresh_ns"), key(full, "malloc", "fresh_ns"), "at most 0.1");
    ratio(key(full, "bmem", "reused_ns"), key(full, "malloc", "reused_ns"), "at most 2.5");
  }
  for (const experiment& each : experiments()) {
    if (each.what != "malloc_test") continue;
    const std::string& threads = each.arguments[2];
    if (threads == "1")
      ratio(key(each.name(), "bmem", "cpu_ns"), key(each.name(), "malloc", "cpu_ns"),
            each.arguments[1] == "4096" ? "below 1" : "at most 1.2");
    if (threads == "2" || threads == "8") {
      experiment one = each;
      one.arguments[2] = "1";
      ratio_of(least, key(one.name(), "bmem", "wall_ns"), key(each.name(), "bmem", "wall_ns"),
               threads == "2" ? "at least 1.9 on 2 cores" : "at least 1.85 on 2 cores");
    }
  }
  return list;
}

int compare(int rounds, const std::vector<std::string>& cases) {
  std::vector<experiment> chosen;
  for (const experiment& each : experiments())
    if (cases.empty() || std::find(cases.begin(), cases.end(), each.what) != cases.end()) chosen.push_back(each);
  const samples found = run_all(chosen, rounds);
  json left_out = json::array();
  for (const allocator& each : allocators)
    if (each.library != nullptr && !run(each, "full_vertical", {})) left_out.push(each.name);
  const json result{{"benchmark", "pim allocators"},
                    {"rounds", rounds},
                    {"processors", std::thread::hardware_concurrency()},
                    {"not_installed", std::move(left_out)},
                    {"figures", figure_list(found)},
                    {"ratios", ratio_list(found)}};
  std::printf("%s\n", result.text(2).c_str());
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::vector<std::string> given(words + 1, words + count);
    if (given.size() >= 3 && given[0] == "--measure")
      return measure_here({given[1], given[2], {given.begin() + 3, given.end()}});
    const int rounds = given.empty() ? 5 : std::stoi(given[0]);
    if (rounds < 1) throw std::runtime_error{"ROUNDS is at least 1"};
    return compare(rounds, given.empty() ? given : std::vector<std::string>(given.begin() + 1, given.end()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "situ_bench_pim_allocators: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
