// What the benches of `situ bench` have in common around their runs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"
#include "subject_run.h"

namespace situ::bench {

// A line on standard error.
void say(const std::string& text);

// One of our own subject programs: beside this program, where a build puts them, or below libexec, where an install
// does.
[[nodiscard]] std::optional<std::filesystem::path> find_subject_program(const std::string& name);

// Warns of what spoils figures: another build than Release, other processes. Throws where there is one processor only.
void check_conditions();

// A run of one subject, and what to call it: "situ, 2 places".
struct requested_run {
  std::string subject;
  std::string name;
  subject_request request;
  bool is_rival = false;  // its failure is no failure of the bench
};

// What a bench is besides its runs.
struct bench {
  std::vector<std::string> subjects;                                   // wanted, in the order in which they are printed
  std::function<std::string(const std::string& subject)> own_program;  // of a subject that is ours
  bool may_install = true;
  bool is_quick = false;  // small sizes and few samples: the results say so
  std::string json_file;  // empty: none
  double split_ns = default_split_ns;
  // The runs of the subjects that can be had; rivals are compiled in the directory.
  std::function<std::vector<requested_run>(const std::vector<std::string>& ready,
                                           const std::filesystem::path& directory)>
      plan;
  // Where the case stands in the table; nothing where it does not.
  std::function<std::optional<std::size_t>(std::string_view case_name)> position;
  std::function<std::string(std::span<const row> rows, const provenance& from)> table;
  // The terms of a row whose program is neither one of ours nor a rival's that we compile; nothing where it is. May be
  // empty.
  std::function<std::optional<subject_terms>(const row&)> other_terms;
};

// Prepares the subjects, runs one run after the other, prints the table, writes the JSON file. The exit code: 0; 1
// where a subject of ours did not deliver (rivals may fail); 130 interrupted. Throws std::runtime_error for a file that
// cannot be written.
int run_bench(const bench& what);

}  // namespace situ::bench
