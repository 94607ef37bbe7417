// What Situ aims at against its rivals at equal terms, over all benches, and what limits each case. One table, in
// aims.cpp: whoever adds a case that is held against a rival, adds its line there. (A case's own aim against its raw
// counterpart stands with the case.)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "results.h"

namespace situ::bench {

// What a rival aim is a multiple of.
enum class aim_base {
  counterpart,  // the median of the samples' own ratios to the case's counterpart
  fastest,      // the median time of the fastest of some subjects of the same case
  nanoseconds,  // nothing: a time
};

struct rival_aim {
  std::string_view what;       // the line of the table, in words
  std::string_view case_name;  // where it is measured
  std::string_view subject;    // Situ's
  aim_base base;
  double at_most;
  std::string_view rivals = {};  // for `fastest`: subjects, with commas between
  double quoted_ns = 0;          // for `fastest`: the rival's time elsewhere, used where no rival was measured; 0: none
  std::string_view quoted = {};  // whose that is
  std::string_view regime = {};  // "near" or "far": in this one only; empty: in each that was met
  std::string_view measured = {};  // what has to be asked for to have it measured; empty: nothing
};

// In the order in which they are printed.
[[nodiscard]] std::span<const rival_aim> all_rival_aims();

// What the case's time goes into when nothing is wasted; empty where nobody has looked. `subject` is Situ's.
[[nodiscard]] std::string_view limit_of(std::string_view case_name, std::string_view subject);

// An aim held against what was measured in one regime.
struct judged_aim {
  std::string regime;   // "near", "far", or empty where the bench has none
  double value;         // in the aim's base: a ratio, or nanoseconds
  double ns;            // Situ's median
  std::string against;  // "openmpi, 15.4 us"; "quoted: GASNet-EX, 313 ns"
  bool is_met;
};

// The verdicts: one for each regime that was met and has what is compared; none where the case was not measured.
[[nodiscard]] std::vector<judged_aim> judge(const rival_aim& aim, std::span<const row> rows);

}  // namespace situ::bench
