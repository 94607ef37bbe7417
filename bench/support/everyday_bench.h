// `situ bench everyday`: values, waiting, data spread over two places, and programs of the guide, beside the same by
// hand or at one place. Its cases, what Situ aims at, and the driver. The programs that take the samples are in
// bench/everyday and bench/spread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.h"

namespace situ::bench {

[[nodiscard]] std::span<const comparison_case> all_everyday_cases();
[[nodiscard]] const comparison_case* find_everyday_case(std::string_view name);
// The table that `situ bench everyday` prints.
[[nodiscard]] std::string to_everyday_table(std::span<const row> rows, const provenance& from);

struct everyday_options {
  std::vector<std::string> cases;  // names, or beginnings of names; empty: all
  bool quick = false;              // small sizes, one sample of each
  std::string json_file;           // empty: none
};

// As run_core_bench().
int run_everyday_bench(const everyday_options& options);

}  // namespace situ::bench
