// `situ model compare`: two reports of modelled runs side by side, by region and by function.
#pragma once

#include <string>

struct compare_options {
  std::string first;  // files that `situ model run --json` has written
  std::string second;
  std::string json;  // a file, or empty
};

// Prints the comparison, and writes it to a file if `json` names one. Throws bad_file for a file that cannot be read or
// is no report of one run; the message names the file. cost: linear in the reports.
void compare_reports(const compare_options& options);
