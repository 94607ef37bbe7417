// The report of a run: cores, the machine's parts, and the speed of the model.
#pragma once

#include <cstdint>
#include <string>

namespace situ::model {

class coherence_log;
class engine;
class timeline;

struct run_figures {
  std::uint64_t modelled_ps = 0;  // until the last core's last access
  std::uint64_t accesses = 0;
  std::uint64_t cycles = 0;  // of the first core's clock
  std::uint64_t host_ns = 0;
};

[[nodiscard]] run_figures figures_of(engine& ran, std::uint64_t host_ns);
[[nodiscard]] std::string report_text(engine& ran, const run_figures& figures);
// Further contents of a report.
struct report_extras {
  int exit_code = 0;
  bool is_complete = true;                  // false if the run was ended from outside
  const coherence_log* mistakes = nullptr;  // null unless coherence was checked
  const timeline* over_time = nullptr;      // null unless samples were taken
  std::string without_hooks = "[]";         // to_json(std::vector<code_without_hooks>)
  std::string objects;                      // objects_report's JSON; empty unless requested
};
[[nodiscard]] std::string report_json(engine& ran, const run_figures& figures, const report_extras& extras);

}  // namespace situ::model
