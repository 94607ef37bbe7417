#include "job_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <chrono>
#include <filesystem>

#include "conditions.h"
#include "recorded_flags.h"
#include "report.h"
#include "rivals.h"
#include "subject_run.h"

namespace situ::bench {
namespace {

std::vector<requested_run> plan(const job_bench& which, const job_bench_options& options, const std::string& folder) {
  std::vector<requested_run> runs;
  for (const job_program& program : which.programs) {
    subject_request request;
    for (const std::string_view name : program.cases)
      if (is_named(*find_comparison(which.cases, name), options.cases)) request.cases.emplace_back(name);
    if (request.cases.empty()) continue;
    if (const std::string why = program.absence != nullptr ? program.absence() : ""; !why.empty()) {
      say(fmt::format("{}: skipped: {}", fmt::join(request.cases, ", "), why));
      continue;
    }
    const std::string situ = find_subject_program("situ").value().string();
    const std::string subject = find_subject_program(program.name).value().string();
    if (program.starts_jobs) {
      request.command = {subject, situ};
    } else if (which.is_over_hosts) {
      request.command = {situ, "run", "--hosts",
                         fmt::format("{1}:{0},{2}:{0}", program.places, options.hosts.at(0), options.hosts.at(1))};
      if (!options.remote_shell.empty()) request.command.insert(request.command.end(), {"--rsh", options.remote_shell});
      request.command.push_back(subject);
    } else {
      request.command = {situ, "run", "-n", std::to_string(program.places), "--bind", "core", subject};
    }
    request.environment = {{"SITU_BENCH_QUICK", options.quick ? "1" : "0"}};
    request.environment.emplace_back("SITU_BENCH_FOLDER", folder);
    request.timeout = std::chrono::seconds{600};
    runs.push_back({"situ", fmt::format("{}: {}", program.name, fmt::join(request.cases, ", ")), std::move(request)});
  }
  return runs;
}

// Of a subject that is a program of its own; nothing of others.
std::optional<subject_terms> terms_of(const job_bench& which, const row& of) {
  for (const comparison_subject& each : find_comparison(which.cases, of.case_name)->subjects) {
    if (each.name != of.subject) continue;
    if (!each.package.empty())
      return subject_terms{"as Debian built it", "Debian's " + package_with_version(std::string{each.package})};
    if (each.program.empty()) continue;
    const auto program = find_subject_program(std::string{each.program});
    if (!program) return std::nullopt;
    subject_terms terms{flags_text(*program), fmt::format("this build, {}", each.program)};
    if (!each.packages.empty()) terms.built += ", with Debian's " + package_with_version(std::string{each.packages});
    return terms;
  }
  return std::nullopt;
}

bool is_in_memory(const std::filesystem::path& folder) {
  struct statfs system{};
  return ::statfs(folder.c_str(), &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

}  // namespace

comparison_case beside_echo(std::string_view name, std::string_view words, std::string_view per, double bytes,
                            double at_most) {
  return {name,
          words,
          per,
          bytes,
          {{"echo", "itself: a blocking TCP echo of the same bytes"}, {"situ", "echo", comparison_aim{at_most}}}};
}

std::span<const job_bench* const> job_benches() {
  static const std::array all{&everyday_bench(), &memory_bench(), &task_bench(), &pool_bench(),
                              &rmem_bench(),     &pim_bench(),    &heap_bench(), &cluster_bench()};
  return all;
}

const job_bench* find_job_bench(std::string_view case_name) {
  for (const job_bench* const each : job_benches())
    if (find_comparison(each->cases, case_name) != nullptr) return each;
  return nullptr;
}

int run_job_bench(const job_bench& which, const job_bench_options& options) {
  check_comparison_names(which.cases, options.cases, which.name);
  bench all{.subjects = which.subjects,
            .own_program = [&](const std::string&) { return which.programs.front().name; },
            .may_install = false,
            .is_quick = options.quick,
            .json_file = options.json_file};
  std::optional<temporary_directory> files;
  if (which.has_files) {
    files.emplace(options.folder);
    if (is_in_memory(files->path()))
      say(files->path().parent_path().string() +
          " is a file system in memory, so nothing here is written to a disk: --folder names another");
  }
  all.plan = [&](const std::vector<std::string>&, const std::filesystem::path& directory) {
    return plan(which, options, files ? files->path().string() : directory.string());
  };
  all.position = [&](std::string_view name) -> std::optional<std::size_t> {
    const comparison_case* const found = find_comparison(which.cases, name);
    return found == nullptr ? std::nullopt : std::optional<std::size_t>{found - which.cases.data()};
  };
  all.other_terms = [&](const row& of) { return terms_of(which, of); };
  all.table = [&](std::span<const row> rows, const provenance& from) {
    return to_comparison_table(which.cases, rows, from, which.words);
  };
  return run_bench(all);
}

}  // namespace situ::bench
