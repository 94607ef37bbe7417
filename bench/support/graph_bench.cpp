#include "graph_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "conditions.h"
#include "rivals.h"
#include "subject_run.h"

namespace situ::bench {
namespace {

namespace fs = std::filesystem;

constexpr int rounds_of_small = 3;
constexpr std::size_t small_graph = 100'000;
constexpr std::size_t quick_graph = 10'000;
constexpr const char* program_name = "situ_bench_graph";

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const graph_operation& operation : graph_operations())
    for (const std::string_view subject : operation.subjects)
      if (std::find(names.begin(), names.end(), subject) == names.end()) names.emplace_back(subject);
  return names;
}

bool is_chosen(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool wants(const graph_options& options, const graph_case& info) {
  if (options.quick && options.cases.empty() && info.size > quick_graph) return false;
  return options.cases.empty() || std::any_of(options.cases.begin(), options.cases.end(),
                                              [&](const std::string& each) { return info.name.starts_with(each); });
}

void check_names(const graph_options& options) {
  for (const std::string& name : options.cases)
    if (std::none_of(all_graph_cases().begin(), all_graph_cases().end(),
                     [&](const graph_case& each) { return each.name.starts_with(name); }))
      throw std::runtime_error{fmt::format("situ bench: no case '{}'; see `situ bench graph --help`", name)};
  const std::vector<std::string> subjects = subject_names();
  for (const std::string& name : options.subjects)
    if (std::find(subjects.begin(), subjects.end(), name) == subjects.end())
      throw std::runtime_error{
          fmt::format("situ bench: no subject '{}'; there are {}", name, fmt::join(subjects, ", "))};
}

requested_run request_of(const planned_graph_run& run, const fs::path& directory) {
  subject_request request;
  if (is_rival(run.subject))
    request = rival_request(run.subject, directory, 1);
  else
    request.command = {find_subject_program(program_name).value().string(), run.subject};
  if (run.places > 1)
    request.command.insert(request.command.begin(), {find_subject_program("situ").value().string(), "run", "-n",
                                                     std::to_string(run.places), "--bind", "none"});
  request.cases = run.cases;
  request.seconds = run.seconds;
  request.timeout = std::chrono::seconds{600 + static_cast<int>(run.seconds)};
  return {run.subject,
          fmt::format("{}, {} cases{}", run.subject, run.cases.size(),
                      run.places > 1 ? fmt::format(" with {} places", run.places) : ""),
          std::move(request), is_rival(run.subject)};
}

}  // namespace

std::vector<planned_graph_run> plan_graph(const graph_options& options, std::span<const std::string> subjects) {
  std::vector<planned_graph_run> plan;
  for (int round = 0; round < (options.quick ? 1 : rounds_of_small); ++round)
    for (const std::string& subject : subjects)
      for (const int places : {1, 2}) {
        planned_graph_run run{subject, places, {}, 0};
        for (const graph_case& info : all_graph_cases())
          if (info.operation->places == places && wants(options, info) && measures_graph(subject, info) &&
              (round == 0 || info.size <= small_graph))
            run.cases.push_back(info.name);
        if (!run.cases.empty()) plan.push_back(std::move(run));
      }
  std::size_t cases = 0;
  for (const planned_graph_run& run : plan) cases += run.cases.size();
  for (planned_graph_run& run : plan)
    run.seconds = options.seconds * static_cast<double>(run.cases.size()) / static_cast<double>(cases);
  return plan;
}

int run_graph_bench(const graph_options& options) {
  check_names(options);
  bench graph{.own_program = [](const std::string&) { return program_name; },
              .may_install = options.may_install,
              .is_quick = options.quick,
              .json_file = options.json_file};
  for (const std::string& name : subject_names())
    if (is_chosen(options.subjects, name)) graph.subjects.push_back(name);
  graph.plan = [&](const std::vector<std::string>& ready, const fs::path& directory) {
    std::vector<requested_run> runs;
    for (const planned_graph_run& each : plan_graph(options, ready)) runs.push_back(request_of(each, directory));
    return runs;
  };
  graph.position = [](std::string_view name) -> std::optional<std::size_t> {
    const graph_case* const found = find_graph_case(name);
    return found == nullptr ? std::nullopt : std::optional<std::size_t>{found - all_graph_cases().data()};
  };
  graph.table = to_graph_table;
  return run_bench(graph);
}

}  // namespace situ::bench
