// From samples to results: what `situ bench` makes of the lines that its subject programs print. Values only;
// thread-safe.
//
// Regime of a sample: near where its calibration (a raw ping-pong right before it) took less than `split_ns`, else far.
// The ratio of a row is the median of the samples' own ratios, so a machine that changes regime between samples does
// not bend it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::bench {

// The two regimes of this kind of machine are about 105 and 490 ns a round trip; this is their geometric mean.
inline constexpr double default_split_ns = 227;

struct sample {
  std::string case_name;
  std::string subject;
  double ns = 0;              // one operation
  double calibration_ns = 0;  // one raw round trip right before
  double raw_ns = 0;          // one operation of the case's raw counterpart, in the same sample
  double bytes = 0;           // memory, for the cases that measure it
};

// A line of a subject program; nothing where it is not a sample.
[[nodiscard]] std::optional<sample> parse_sample(std::string_view line);
// Whether the line is the one that a subject prints after its last sample.
[[nodiscard]] bool is_end_line(std::string_view line);

// A subject's word on its flags, {"terms":"devito","flags":"-O3"}; nothing where the line is none.
struct flags_line {
  std::string subject, flags;
};
[[nodiscard]] std::optional<flags_line> parse_flags_line(std::string_view line);

struct spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  friend bool operator==(const spread&, const spread&) = default;
};

// Quantiles by linear interpolation between neighbours. pre: values is not empty.
[[nodiscard]] spread spread_of(std::vector<double> values);

struct figures {
  spread ns;
  double ratio_to_raw = 0;    // median of ns / raw_ns
  double calibration_ns = 0;  // median
  double bytes = 0;           // median
  std::size_t samples = 0;
};

// On what terms a subject was measured.
struct subject_terms {
  std::string flags = {};  // what it was compiled with; "unknown" where nobody can say
  std::string built = {};  // how, in words
};

struct row {
  std::string case_name;
  std::string subject;
  figures all;
  std::optional<figures> near;  // nothing where no sample was taken in the regime
  std::optional<figures> far;
  subject_terms terms = {};
};

// One row for each case and subject, cases and subjects in the order in which the samples first name them.
[[nodiscard]] std::vector<row> summarize(std::span<const sample> samples, double split_ns = default_split_ns);

[[nodiscard]] const row* find_row(std::span<const row> rows, std::string_view case_name, std::string_view subject);

// What was measured, and where: stands in every row of the JSON form.
struct provenance {
  std::string commit;
  std::string machine;
  std::string build;  // "Release", "Release --quick"
  std::string date;   // UTC, ISO 8601
  double load = -1;   // of the machine in the minute before; less than 0: not known
  friend bool operator==(const provenance&, const provenance&) = default;
};

// What the build of a quick run ends with.
inline constexpr std::string_view quick_mark = " --quick";

// The form that every benchmark of Situ keeps: a JSON array, one row a line (docs/benchmarks.md).
[[nodiscard]] std::string to_json(std::span<const row> rows, const provenance& from);

struct recorded_run {
  provenance from;
  std::vector<row> rows;
};
// What to_json() wrote. Throws std::runtime_error where the text is no such thing, holds no row, or its rows are not of
// one run.
[[nodiscard]] recorded_run from_json(std::string_view text);

}  // namespace situ::bench
