// The VM `squeak` as a modelled program, and what each run has counted in its last evaluation of the benchmark.
#pragma once

#include "manycore/published.h"
#include "support/study.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::studies::manycore {

// The image, as SITU_SQUEAK_IMAGE has it or Debian's package scratch.
[[nodiscard]] std::string image_path();
// Returns why there can be no run for want of an image; an empty text if there is one. Throws bad_file if there is none
// and SITU_SQUEAK_IS_NEEDED is set.
[[nodiscard]] std::string missing_image();

[[nodiscard]] std::string_view name(configuration of) noexcept;

// A function's share of all evaluations of a run.
struct function_cycles {
  std::string name;
  double cycles = 0;
  double stalls = 0;  // of these, in the machine: beyond hits in the first cache
};

// Cycles are of all tiles together. The region's cycles are the time that passed.
struct heap_run {
  std::uint32_t evaluations = 0;
  double bytecodes = 0, sends = 0, batons = 0;  // of the last evaluation, as all that follows but for `functions`
  double cycles = 0;
  double bundles = 0;  // instructions, those of walks among them
  double walks = 0;    // misses of data TLBs
  double walk_cycles = 0;
  double code_cycles = 0;    // waited for code
  double data_cycles = 0;    // waited for data beyond the first cache, walks included
  double remote_reads = 0;   // words of homed pages of other tiles
  double remote_cycles = 0;  // of these
  double l2_misses = 0;      // in a tile's own L2
  double l2_miss_cycles = 0;
  double l1i_misses = 0, l1d_misses = 0, stores = 0;
  std::vector<function_cycles> functions;  // most stalls first
  // The data's stalls include hits in the L2, stores that are written through, stores and atomics of other tiles' pages.
  [[nodiscard]] double other_data_cycles() const { return data_cycles - walk_cycles - remote_cycles - l2_miss_cycles; }
  [[nodiscard]] double stalls() const { return code_cycles + data_cycles; }
};

// From what a run has written: the machine's report and the program's own. Throws bad_file where these lack something,
// or the answer is wrong.
[[nodiscard]] heap_run read_run(const std::string& report, const std::string& program);

class heap_runs {
 public:
  // Runs all configurations; quickly: those of one and two tiles.
  explicit heap_runs(const study_context& context);
  // Null if there is none.
  [[nodiscard]] const heap_run* find(configuration of, std::uint32_t tiles) const;
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  // Rounds of a clock call with which bundles double from one tile to two; 0 if a run for it is missing.
  [[nodiscard]] std::uint32_t clock_rounds() const { return clock_rounds_; }
  // Cycles by those with one tile; 0 if one of the two is missing.
  [[nodiscard]] double ratio(configuration of, std::uint32_t tiles) const;

 private:
  struct wanted_run {
    configuration of;
    std::uint32_t tiles;
  };
  void run(const study_context& context, const std::vector<wanted_run>& all);
  void calibrate();
  [[nodiscard]] std::vector<std::string> arguments_of(const wanted_run& what, const std::string& machine,
                                                      const std::string& report) const;

  std::map<std::pair<configuration, std::uint32_t>, heap_run> runs_;
  std::uint32_t clock_rounds_ = 0;
  std::vector<std::string> missing_;
};

// The result of the check of coherence in one evaluation with two tiles: the line that it ends with.
struct coherence_run {
  std::string said;
  std::string missing;  // why there is none
};
[[nodiscard]] coherence_run check_coherence(const study_context& context);

}  // namespace situ::studies::manycore
