// What the program found, as tables for people or as JSON. For place 0.
#pragma once

#include "at_timers.h"
#include "copy_log.h"
#include "network.h"

#include <optional>
#include <string>
#include <vector>

namespace imsuite {

struct outcome {
  kernel which;
  form input;
  vertex nodes;
  std::size_t links;
  std::uint64_t seed;
  std::string answer;           // in words
  std::string fault;            // empty: validated
  std::vector<double> seconds;  // of each repetition
  std::optional<copy_summary> copied;
  std::optional<at_times> ats;  // of the last repetition
};
struct report {
  std::uint32_t places = 0;
  std::string transfer;
  std::vector<outcome> outcomes;
};

// An answer in a few words; only for those that were validated.
[[nodiscard]] std::string describe(const problem& p, const answer& a);

[[nodiscard]] std::string to_text(const report& r);
[[nodiscard]] std::string to_json(const report& r);

}  // namespace imsuite
