// `situ bench stencil`: its cases, what Situ aims at, and the driver.
//
// A case compares subjects that take turns in one process: raw (loops as written by hand, with OpenMP), file (bytes
// moved to and from a file, nothing else), and Situ's executors by their names. Each subject has a counterpart, which
// its ratio is to. Cases of programs compare whole programs that were built elsewhere (bench/stencil/programs.cpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"

namespace situ::bench {

// Of a time in nanoseconds, or of the ratio to the counterpart.
struct stencil_aim {
  double at_most;
  bool is_ratio = true;
};

struct stencil_subject {
  std::string_view name;
  std::string_view counterpart;  // in words
  std::optional<stencil_aim> aim = std::nullopt;
};

struct stencil_case {
  std::string_view name;
  std::string_view words;
  std::string_view unit;  // what a time is for
  double bytes_each;      // of memory, for that, by the paper's count; 0: not counted
  std::vector<stencil_subject> subjects;
  double share = 1;          // of the time
  bool is_large = false;     // only where it is named or --large is given
  bool is_programs = false;  // only where --programs is given
  bool is_devito = false;    // beside Devito, where it can be had
};

[[nodiscard]] std::span<const stencil_case> all_stencil_cases();
[[nodiscard]] const stencil_case* find_stencil_case(std::string_view name);
// The table that `situ bench stencil` prints.
[[nodiscard]] std::string to_stencil_table(std::span<const row> rows, const provenance& from);

struct stencil_options {
  std::vector<std::string> cases;  // names, or beginnings of names; empty: all but those by request
  double seconds = 120;  // of samples, over all runs; making the data and the first repeats of each chain come on top
  bool quick = false;    // small grids and one sample of each
  bool large = false;    // what exceeds the machine's memory, too
  bool may_install = true;
  std::string programs;   // folder of programs built elsewhere; empty: none
  std::string json_file;  // empty: none
};

// As run_core_bench().
int run_stencil_bench(const stencil_options& options);

}  // namespace situ::bench
