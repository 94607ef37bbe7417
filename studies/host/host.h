// The study `host`: how far the model of machines is off where it can be held against a machine, this one. What
// `situ topo --measure` finds becomes a machine file; kernels run on it as modelled programs (the prediction), then
// natively (the measurement). docs/studies/host.md.
#pragma once

#include "support/study.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::studies::host {

[[nodiscard]] study_result run(const study_context& context);

// A kernel of studies/host/kernels at one size.
struct host_row {
  std::string_view name;  // of the row
  std::string_view kernel;
  std::uint64_t size = 0;
};
// Nine rows; small ones where it shall be quick.
[[nodiscard]] std::vector<host_row> host_rows(bool is_quick);

// What a run of the program host_kernels says.
struct kernel_run {
  double ns = 0;  // in which it had the processor
  std::string checksum;
};
// Throws bad_file where the line is not what the program prints.
[[nodiscard]] kernel_run kernel_run_of(const std::string& line);

// Of one kernel: the modelled run, and the native ones.
struct host_figures {
  host_row row;
  kernel_run predicted;
  std::vector<kernel_run> measured;
};
// A row each, and a note with the mean and the worst deviation. Throws bad_argument where a checksum differs.
[[nodiscard]] study_part host_part_of(const std::vector<host_figures>& all);

}  // namespace situ::studies::host
