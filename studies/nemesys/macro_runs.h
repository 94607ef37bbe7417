// Section 5.4 of NEMESYS: the IMSuite kernels as modelled programs, and what the machine counts in their computation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/study.h"

namespace situ::studies::nemesys {

struct kernel_name {
  std::string_view kernel;
  std::string_view abbreviation;  // the paper's
};
// In the order of the paper's tables.
inline constexpr std::array<kernel_name, 12> kernel_names{{{"bfsBellmanFord", "BF"},
                                                           {"bfsDijkstra", "DST"},
                                                           {"byzantine", "BY"},
                                                           {"dijkstraRouting", "DR"},
                                                           {"dominatingSet", "DS"},
                                                           {"kcommittee", "KC"},
                                                           {"leader_elect_lcr", "LCR"},
                                                           {"leader_elect_hs", "HS"},
                                                           {"leader_elect_dp", "DP"},
                                                           {"mis", "MIS"},
                                                           {"mst", "MST"},
                                                           {"vertexColoring", "VC"}}};

// Who copies graphs, on which machine.
enum class variant : std::uint8_t {
  message_single,
  message_twin,
  pegasus_single,
  pegasus_twin,
  nemesys_single,
  nemesys_twin,
  nemesys_no_dummies,  // single, without the dummy allocations of section 6.1
  nemesys_no_nca,      // single; graphs are walked by software
  small_message,       // the 2 x 2 machine
  small_pegasus,
  small_nemesys,
  pegasus_l2_8,  // single; a way of the L2 has so many KiB
  pegasus_l2_16,
  nemesys_l2_8,
  nemesys_l2_16,
  pegasus_single_timed,  // with the timers Tat and Tcom, which take time themselves
  pegasus_twin_timed,
  nemesys_single_timed,
  nemesys_twin_timed,
};
inline constexpr std::size_t variant_count = 19;
[[nodiscard]] std::string_view name(variant of) noexcept;

// What one run has counted in the kernel's computation: the columns of table 6, and what figures 9 to 13 need.
// Shares are of 1; those of tiles and memories are means over the compute tiles, or over the memories in use.
struct kernel_run {
  double seconds = 0;      // modelled
  double at_seconds = 0;   // the timer Tat; 0 where it did not run, as the next
  double com_seconds = 0;  // Tcom: Tat less that of the functions
  double bus_load = 0;
  double adapter_use = 0;
  double memory_use = 0;
  double megabytes = 0;  // accessed in all memories
  double via_adapter = 0;
  double via_unit = 0;
  double unit_use = 0;      // of the graph-copy units
  double load_cycles = 0;   // of a remote load, on average
  double store_cycles = 0;  // likewise
  double loads = 0;         // remote ones of all compute tiles, as the next two
  double stores = 0;
  double atomics = 0;
  double memory_bound = 0;  // of the time that cores were busy, what they waited for accesses and for code
};

// From what a modelled run of imsuite has written: the machine's report and the program's own. Throws bad_file where
// these lack something, or the program's answer is wrong.
[[nodiscard]] kernel_run read_run(const std::string& report, const std::string& program, std::uint32_t memories);

// What is run, on which machine.
struct run_choice {
  bool is_fitted = false;             // on the machines with the figures that were fitted to table 6
  std::vector<std::string> settings;  // of the 4 x 4 machine, as `situ model run --set`
  std::vector<variant> variants;      // empty: all
};

// The machine's file of a variant, without the settings.
[[nodiscard]] std::string machine_file(variant of, const run_choice& choice = {});

class macro_runs {
 public:
  // Runs all kernels (of a quick study three of them) in the variants, as many at a time as there are processors.
  explicit macro_runs(const study_context& context, const run_choice& choice = {});

  [[nodiscard]] const kernel_run* find(std::size_t kernel, variant of) const;
  // How much faster a kernel is in variant `with` than in `without`. pre: it has run in both.
  [[nodiscard]] double speedup(std::size_t kernel, variant without, variant with) const {
    return find(kernel, without)->seconds / find(kernel, with)->seconds;
  }
  // The kernels that have run in all of these variants: their numbers in kernel_names.
  [[nodiscard]] std::vector<std::size_t> kernels(const std::vector<variant>& needed) const;
  // As if they had run, for tests.
  explicit macro_runs(std::map<std::pair<std::size_t, variant>, kernel_run> runs) : runs_{std::move(runs)} {}
  // What could not be run, and why.
  [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

 private:
  std::map<std::pair<std::size_t, variant>, kernel_run> runs_;
  std::vector<std::string> missing_;
};

}  // namespace situ::studies::nemesys
