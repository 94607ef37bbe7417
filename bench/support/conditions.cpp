#include "conditions.h"

#include "provenance.h"
#include "rivals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace situ::bench {

namespace fs = std::filesystem;

void say(const std::string& text) { fmt::print(stderr, "situ bench: {}\n", text); }

std::optional<fs::path> find_subject_program(const std::string& name) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& path : {here / name, here.parent_path() / "libexec/situ" / name})
    if (access(path.c_str(), X_OK) == 0)
      return path;
  say(name + " is not there: this Situ was built without its benchmarks (SITU_BUILD_BENCH)");
  return std::nullopt;
}

namespace {

bool check_outcome(const std::string& name, const subject_outcome& outcome) {
  if (outcome.end == subject_end::complete)
    return true;
  say(fmt::format("{} {}; {} samples were taken", name,
                  outcome.end == subject_end::timed_out ? "took too long and was ended" : "ended before its last sample", outcome.samples.size()));
  if (!outcome.error_output.empty())
    fmt::print(stderr, "{}\n", outcome.error_output);
  return false;
}

}  // namespace

std::optional<std::vector<sample>> run_all(std::span<const requested_run> runs, bool& missing) {
  std::vector<sample> samples;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    say(fmt::format("run {} of {}: {}", i + 1, runs.size(), runs[i].name));
    subject_outcome outcome = run_subject(runs[i].request);
    if (interruption_guard::interrupted() || outcome.end == subject_end::interrupted)
      return std::nullopt;
    if (!check_outcome(runs[i].name, outcome) && !is_rival(runs[i].subject))
      missing = true;
    samples.insert(samples.end(), std::make_move_iterator(outcome.samples.begin()), std::make_move_iterator(outcome.samples.end()));
  }
  return samples;
}

void write_json(const std::string& path, std::span<const row> rows, const provenance& from) {
  std::ofstream file{path};
  file << to_json(rows, from);
  if (!file.flush())
    throw std::runtime_error{"situ bench: cannot write " + path};
}

void check_conditions() {
  if (!is_release_build())
    say("this is no Release build: its figures say nothing about Situ's speed");
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 1)
    say(fmt::format("other processes are running (load average {:.1f}): messages, barriers and context switches will look slower than they are", load));
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
    throw std::runtime_error{"situ bench: two processors are needed: the places of a pair are pinned to processors 0 and 1"};
}

}  // namespace situ::bench
