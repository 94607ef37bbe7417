// The software lines of figure 8: Situ's own copy on a modelled LEON 3 (nemesys_software_copies).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/study.h"

namespace situ::studies::nemesys {

struct software_copies {
  std::map<char, std::vector<std::pair<double, double>>> lines;  // by the figure's letter: size, microseconds
  std::string missing;                                           // why there are none; else empty
};

// Runs the program, which lies beside the running one.
[[nodiscard]] software_copies run_software_copies(const study_context& context);
// From what it has printed. Throws bad_file where a line is none of its own.
[[nodiscard]] software_copies read_software_copies(const std::string& printed);

}  // namespace situ::studies::nemesys
