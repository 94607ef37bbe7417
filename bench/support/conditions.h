// What the benches of `situ bench` have in common around their runs.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results.h"
#include "subject_run.h"

namespace situ::bench {

// A line on standard error.
void say(const std::string& text);

// One of our own subject programs: beside this program, where a build puts them, or below libexec, where an install does.
[[nodiscard]] std::optional<std::filesystem::path> find_subject_program(const std::string& name);

// Warns of what spoils figures: another build than Release, other processes. Throws where there is one processor only.
void check_conditions();

// A run of one subject, and what to call it: "situ, 2 places".
struct requested_run {
  std::string subject;
  std::string name;
  subject_request request;
};
// Runs one after the other, and says how far it is and what went wrong. Nothing where the user interrupts it. `missing` is set where a
// subject of ours has not delivered; rivals may fail.
[[nodiscard]] std::optional<std::vector<sample>> run_all(std::span<const requested_run> runs, bool& missing);

// Throws std::runtime_error where it cannot be written.
void write_json(const std::string& path, std::span<const row> rows, const provenance& from);

}  // namespace situ::bench
