#include "conditions.h"

#include "base/print.h"
#include "os/find_program.h"
#include "os/output_file.h"
#include "provenance.h"
#include "recorded_flags.h"
#include "rivals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace situ::bench {

namespace fs = std::filesystem;

void say(const std::string& text) { situ::detail::tell("situ bench: {}\n", text); }

std::optional<fs::path> find_subject_program(const std::string& name) {
  if (std::string file = os::find_own_program(name); !file.empty()) return file;
  say(name + " is not there: this Situ was built without its benchmarks (SITU_BUILD_BENCH)");
  return std::nullopt;
}

namespace {

// Of the last minute; less than 0 where the system does not say.
double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

bool check_outcome(const std::string& name, const subject_outcome& outcome) {
  if (outcome.end == subject_end::complete) return true;
  say(fmt::format(
      "{} {}; {} samples were taken", name,
      outcome.end == subject_end::timed_out ? "took too long and was ended" : "ended before its last sample",
      outcome.samples.size()));
  if (!outcome.error_output.empty()) situ::detail::tell("{}\n", outcome.error_output);
  return false;
}

struct measured {
  std::vector<sample> samples;
  std::map<std::string, std::string> flags;  // of subjects that say theirs
};

// One after the other, saying how far it is and what went wrong, until the user interrupts it.
measured run_all(std::span<const requested_run> runs, bool& missing) {
  measured all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    say(fmt::format("run {} of {}: {}", i + 1, runs.size(), runs[i].name));
    subject_outcome outcome = run_subject(runs[i].request);
    const bool interrupted = interruption_guard::interrupted() || outcome.end == subject_end::interrupted;
    if (!interrupted && !check_outcome(runs[i].name, outcome) && !runs[i].is_rival) missing = true;
    all.samples.insert(all.samples.end(), std::make_move_iterator(outcome.samples.begin()),
                       std::make_move_iterator(outcome.samples.end()));
    for (flags_line& each : outcome.flags) all.flags[each.subject] = std::move(each.flags);
    if (interrupted) {
      say("interrupted: the table holds what was measured until then");
      break;
    }
  }
  return all;
}

void write_json(const std::string& path, std::span<const row> rows, const provenance& from) {
  situ::detail::write_file(path, to_json(rows, from));
}

// The subjects that can be had; `missing` is set where one of our own cannot.
std::vector<std::string> prepare_subjects(const bench& what, const fs::path& directory, bool& missing) {
  std::vector<std::string> ready;
  for (const std::string& subject : what.subjects) {
    const bool there = is_rival(subject) ? prepare_rival(subject, directory, what.may_install, say)
                                         : find_subject_program(what.own_program(subject)).has_value();
    if (there)
      ready.push_back(subject);
    else if (!is_rival(subject))
      missing = true;
  }
  return ready;
}

subject_terms terms_of(const bench& what, const std::string& subject, const fs::path& directory) {
  if (is_rival(subject)) return rival_terms(subject, directory);
  const auto program = find_subject_program(what.own_program(subject));
  if (!program) return {};
  return {flags_text(*program), "this build, " + program->filename().string()};
}

void note_terms(const bench& what, const fs::path& directory, const std::map<std::string, std::string>& told,
                std::vector<row>& rows) {
  std::map<std::string, subject_terms> known;
  for (row& r : rows) {
    auto other = what.other_terms ? what.other_terms(r) : std::nullopt;
    if (!other && !known.contains(r.subject)) known[r.subject] = terms_of(what, r.subject, directory);
    r.terms = other ? std::move(*other) : known[r.subject];
    if (const auto flags = told.find(r.subject); flags != told.end()) r.terms.flags = flags->second;
  }
}

// Table order, whatever order the rounds gave; what is no row of the table goes.
void sort_rows(const bench& what, std::vector<row>& rows) {
  std::erase_if(rows, [&](const row& r) { return !what.position(r.case_name); });
  const auto rank = [&](const row& r) {
    return std::pair{*what.position(r.case_name),
                     std::find(what.subjects.begin(), what.subjects.end(), r.subject) - what.subjects.begin()};
  };
  std::sort(rows.begin(), rows.end(), [&](const row& a, const row& b) { return rank(a) < rank(b); });
}

}  // namespace

void check_conditions() {
  if (!is_release_build()) say("this is no Release build: its figures say nothing about Situ's speed");
  if (const double load = load_average(); load > 1)
    say(
        fmt::format("other processes are running (load average {:.1f}): messages, barriers and context switches will "
                    "look slower than they are",
                    load));
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
    throw std::runtime_error{
        "situ bench: two processors are needed: the places of a pair are pinned to processors 0 and 1"};
}

int run_bench(const bench& what) {
  check_conditions();
  const double load = load_average();
  const interruption_guard guard;
  const temporary_directory directory;
  bool missing = false;
  const std::vector<std::string> ready = prepare_subjects(what, directory.path(), missing);
  const measured all = run_all(what.plan(ready, directory.path()), missing);
  std::vector<row> rows = summarize(all.samples, what.split_ns);
  sort_rows(what, rows);
  note_terms(what, directory.path(), all.flags, rows);
  provenance from = provenance_of_this_run();
  from.load = load;
  if (what.is_quick) from.build += quick_mark;
  situ::detail::print_text(what.table(rows, from));
  if (!what.json_file.empty()) write_json(what.json_file, rows, from);
  return interruption_guard::interrupted() ? 130 : missing ? 1 : 0;
}

}  // namespace situ::bench
