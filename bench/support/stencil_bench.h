// `situ bench stencil`: its cases, what Situ aims at, and the driver.
//
// A case compares subjects that take turns in one process: raw (loops as written by hand, with OpenMP), file (bytes
// moved to and from a file, nothing else), and Situ's executors by their names. Each subject has a counterpart, which
// its ratio is to. Cases of programs compare whole programs that were built elsewhere (bench/stencil/programs.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.h"

namespace situ::bench {

[[nodiscard]] std::span<const comparison_case> all_stencil_cases();
[[nodiscard]] const comparison_case* find_stencil_case(std::string_view name);
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
