// The driver of `situ bench core`: which subject runs which cases, over how many places, how long, and in what order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"

namespace situ::bench {

struct core_options {
  std::vector<std::string> cases;     // empty: all
  std::vector<std::string> subjects;  // empty: all
  std::vector<std::string> rivals;    // built elsewhere: NAME=PROGRAM
  double seconds = 60;                // of samples, over all runs
  double split_ns = default_split_ns;
  bool quick = false;  // one round, 4 seconds unless `seconds` says otherwise
  bool may_install = true;
  std::string json_file;  // empty: none
};

[[nodiscard]] std::span<const std::string_view> all_subjects();

// One run of a subject: these cases, over so many places, so long.
struct planned_run {
  std::string subject;
  unsigned places;
  std::vector<std::string> cases;
  double seconds;
};

// Rounds over the subjects, so that every subject meets the regimes that the others meet; many places cost long starts
// and are run in fewer rounds. The cases that give a barrier its unit, and the idle ones, are added where they belong.
[[nodiscard]] std::vector<planned_run> plan_core(const core_options& options, std::span<const std::string> subjects);

// Runs it, prints the table, writes the JSON file. The exit code: 0; 1 where raw or Situ did not deliver; 130
// interrupted. Throws std::runtime_error for a case or subject that does not exist, or a file that cannot be written.
int run_core_bench(const core_options& options);

}  // namespace situ::bench
