#include "core_bench.h"

#include "cases.h"
#include "conditions.h"
#include "recorded_flags.h"
#include "report.h"
#include "rivals.h"
#include "subject_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view subject_names[] = {"raw", "situ", "openmpi", "oshmem"};

// Share of the time and number of rounds for jobs of so many places.
struct job_size {
  unsigned places;
  double share;
  int rounds;
};
constexpr job_size job_sizes[] = {{2, 0.6, 6}, {8, 0.15, 3}, {64, 0.25, 2}};

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_messages(std::string_view subject) { return subject != "oshmem"; }

bool measures(std::string_view subject, std::string_view case_name) {
  if (case_name == "context_switch") return subject == "raw";
  if (case_name.starts_with("idle_")) return subject != "raw";
  if (case_name == "at_beside_load") return subject == "raw" || subject == "situ";
  return has_messages(subject) || !(case_name.starts_with("am_") || case_name.starts_with("at_"));
}

bool wants(const core_options& options, std::string_view case_name) {
  if (options.cases.empty() || contains(options.cases, case_name)) return true;
  // The unit that a barrier of many places is counted in.
  return case_name == "context_switch" &&
         (contains(options.cases, "barrier_8") || contains(options.cases, "barrier_64"));
}

std::vector<std::string> cases_of(const core_options& options, const std::string& subject, unsigned places,
                                  bool last_round) {
  std::vector<std::string> cases;
  for (const case_info& info : all_cases()) {
    const bool once = info.name.starts_with("idle_");  // takes a second, whatever the time given
    if (info.places == places && wants(options, info.name) && measures(subject, info.name) && (!once || last_round))
      cases.emplace_back(info.name);
  }
  return cases;
}

// Rivals that were built elsewhere, of two places.
struct named_program {
  std::string name, program;
};
std::vector<named_program> programs_of(const core_options& options) {
  std::vector<named_program> programs;
  for (const std::string& each : options.rivals) {
    const std::size_t at = each.find('=');
    const std::string program = at == each.npos ? "" : each.substr(at + 1);
    if (program.empty() || at == 0 || access(program.c_str(), X_OK) != 0)
      throw std::runtime_error{
          fmt::format("situ bench: --rival {}: it is NAME=PROGRAM, and the program must be there", each)};
    programs.push_back({each.substr(0, at), fs::absolute(program).string()});
  }
  return programs;
}

std::optional<std::string> program_of(const std::vector<named_program>& programs, std::string_view subject) {
  for (const named_program& each : programs)
    if (each.name == subject) return each.program;
  return std::nullopt;
}

subject_request own_request(const std::string& subject, unsigned places) {
  subject_request request;
  const std::string count = std::to_string(places);
  const std::string program = find_subject_program("situ_bench_" + subject).value().string();
  if (subject == "raw")
    request.command = {program, count};
  else
    request.command = {find_subject_program("situ").value().string(), "run", "-n", count, "--bind", "none", program};
  return request;
}

void check_names(const core_options& options) {
  for (const std::string& name : options.cases)
    if (find_case(name) == nullptr)
      throw std::runtime_error{fmt::format("situ bench: no case '{}'; see `situ bench core --help`", name)};
  for (const std::string& name : options.subjects)
    if (std::find(std::begin(subject_names), std::end(subject_names), name) == std::end(subject_names))
      throw std::runtime_error{
          fmt::format("situ bench: no subject '{}'; there are raw, situ, openmpi and oshmem", name)};
}

requested_run request_of(const planned_run& run, const fs::path& directory,
                         const std::vector<named_program>& programs) {
  subject_request request;
  if (const auto program = program_of(programs, run.subject))
    request.command = {*program, std::to_string(run.places)};
  else
    request = is_rival(run.subject) ? rival_request(run.subject, directory, run.places)
                                    : own_request(run.subject, run.places);
  request.cases = run.cases;
  request.seconds = run.seconds;
  request.timeout = std::chrono::seconds{90 + static_cast<int>(run.seconds)};
  return {run.subject, fmt::format("{}, {} places", run.subject, run.places), std::move(request),
          is_rival(run.subject) || program_of(programs, run.subject)};
}

}  // namespace

std::span<const std::string_view> all_subjects() { return subject_names; }

std::vector<planned_run> plan_core(const core_options& options, std::span<const std::string> subjects) {
  std::vector<planned_run> plan;
  const int rounds = options.quick ? 1 : job_sizes[0].rounds;
  for (int round = 0; round < rounds; ++round)
    for (const job_size& size : job_sizes) {
      const int rounds_of_size = std::min(rounds, size.rounds);
      if (round >= rounds_of_size) continue;
      for (const std::string& subject : subjects) {
        auto cases = cases_of(options, subject, size.places, round == rounds_of_size - 1);
        const double seconds = options.seconds * size.share / (rounds_of_size * static_cast<double>(subjects.size()));
        if (!cases.empty()) plan.push_back({subject, size.places, std::move(cases), seconds});
      }
    }
  return plan;
}

int run_core_bench(const core_options& options) {
  check_names(options);
  const std::vector<named_program> programs = programs_of(options);
  bench core{.own_program = [](const std::string& subject) { return "situ_bench_" + subject; },
             .may_install = options.may_install,
             .is_quick = options.quick,
             .json_file = options.json_file,
             .split_ns = options.split_ns};
  for (const std::string_view name : subject_names)
    if (options.subjects.empty() || contains(options.subjects, name)) core.subjects.emplace_back(name);
  core.plan = [&](std::vector<std::string> ready, const fs::path& directory) {
    for (const named_program& each : programs) ready.push_back(each.name);
    std::vector<requested_run> runs;
    for (const planned_run& each : plan_core(options, ready))
      if (each.places == 2 || !program_of(programs, each.subject))
        runs.push_back(request_of(each, directory, programs));
    return runs;
  };
  core.other_terms = [&](const row& r) -> std::optional<subject_terms> {
    const auto program = program_of(programs, r.subject);
    if (!program) return std::nullopt;
    return terms_of_program(*program);
  };
  core.position = [](std::string_view name) -> std::optional<std::size_t> {
    const case_info* const found = find_case(name);
    return found == nullptr ? std::nullopt : std::optional<std::size_t>{found - all_cases().data()};
  };
  core.table = to_table;
  return run_bench(core);
}

}  // namespace situ::bench
