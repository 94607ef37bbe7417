// Cases that compare subjects which take turns in one process: each subject has a counterpart, which its ratio is to.
// The tables of `situ bench stencil` and `situ bench everyday`, and their cases' common form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"

namespace situ::bench {

// Of a time in nanoseconds, or of the ratio to the counterpart.
struct comparison_aim {
  double at_most;
  bool is_ratio = true;
};

struct comparison_subject {
  std::string_view name;
  std::string_view counterpart;  // in words
  std::optional<comparison_aim> aim = std::nullopt;
  std::string_view packages = {};  // Debian's, without which it was not built
  std::string_view program = {};   // of its own, whose terms are told; empty: the bench's
  std::string_view package = {};   // Debian's, which the subject is; empty: it is a program of this build
};

struct comparison_case {
  std::string_view name;
  std::string_view words;
  std::string_view unit;  // what a time is for
  double bytes_each;      // of memory, for that, by the paper's count; 0: not counted
  std::vector<comparison_subject> subjects;
  double share = 1;          // of the time
  bool is_large = false;     // only where it is named or --large is given
  bool is_programs = false;  // only where --programs is given
  bool is_devito = false;    // beside Devito, where it can be had
  // Of subjects that are not listed, and come as they were measured: kernels by their names. Empty: there are none.
  std::string_view counterpart_of_others = {};
};

// The case of that name; null where there is none.
[[nodiscard]] const comparison_case* find_comparison(std::span<const comparison_case> cases, std::string_view name);
// Whether a case is asked for by its name, or by a name's beginning; nothing asked for means all.
[[nodiscard]] bool is_named(const comparison_case& info, std::span<const std::string> asked_for);
// Throws std::runtime_error for a name that no case begins with. `bench`: whose help lists them.
void check_comparison_names(std::span<const comparison_case> cases, std::span<const std::string> asked_for,
                            std::string_view bench);

// The listed subjects of a case, then those that are not and were measured.
[[nodiscard]] std::vector<comparison_subject> subjects_of(const comparison_case& info, std::span<const row> rows);
[[nodiscard]] bool is_met(const comparison_aim& aim, const row& r);
// Of one that was not there when Situ was built; empty where its absence has no such reason.
[[nodiscard]] std::string absence_text(const comparison_subject& subject);
// "1.05 x", "3 ns"
[[nodiscard]] std::string text_of(const comparison_aim& aim);
// "12 GB/s"; empty where bytes are not counted.
[[nodiscard]] std::string rate_text(const comparison_case& info, const row& r);

// The table that a bench prints, after two lines of where it was measured and `words`.
[[nodiscard]] std::string to_comparison_table(std::span<const comparison_case> cases, std::span<const row> rows,
                                              const provenance& from, std::string_view words);

}  // namespace situ::bench
