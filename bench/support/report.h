// The table that `situ bench core` prints.
#pragma once

#include <span>
#include <string>

#include "results.h"

namespace situ::bench {

// A time with its unit, three significant digits: "1.92 ns", "33.8 us".
[[nodiscard]] std::string time_text(double ns);

// A median with its unit, and its 10th and 90th percentile: "1.42 ns [1.4, 1.5]".
[[nodiscard]] std::string spread_text(const spread& s);

// Case by case, a line for each subject: both regimes, and on Situ's line the target and whether each regime meets it.
[[nodiscard]] std::string to_table(std::span<const row> rows, const provenance& from);

}  // namespace situ::bench
