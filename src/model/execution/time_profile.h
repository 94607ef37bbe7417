// Attributes the modelled time of each core to functions (`situ model run --profile`).
//
// Each access that misses the first cache records the time since the previous such access for its own function. So the
// time of a function's computation between two accesses counts for the function of the second, and so do the branches
// in between. A core that predicts branches sends all its accesses to the machine, so its mispredicted branches count for
// the function of the next access. An inlined function counts as the function that contains it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/execution/engine.h"

namespace situ::model {

class time_profile {
 public:
  explicit time_profile(std::size_t cores) : cores_(cores) {}
  // Records an access of this code that brought the core to its clock, and for which the machine took `in_machine`.
  // `shared` are the core's counts of sharing so far.
  void note(const core& c, std::uintptr_t code, time_ps in_machine, const sharing_counts& shared);
  // Restarts the measurement when a thread continues on an idle core.
  void begin(const core& c) { of(c).until = c.clock; }
  // Returns the functions that took most of all cores' time, and those that took most of the busiest core's time.
  [[nodiscard]] std::string text() const;
  // [{"function": ..., "ps": ..., "in_machine_ps": ..., "accesses": ..., "coherence_misses": ..., "upgrades": ...,
  // "branches": ..., "mispredicted": ...}], the largest first.
  [[nodiscard]] std::string json() const;

 private:
  struct share {
    time_ps time = 0;
    time_ps in_machine = 0;
    std::uint64_t accesses = 0;
    sharing_counts sharing;
    std::uint64_t branches = 0;
    std::uint64_t mispredicted = 0;
    void add(const share& more) noexcept;
  };
  struct of_core {
    std::unordered_map<std::uintptr_t, share> by_code;
    time_ps until = 0;
    sharing_counts shared;  // until then
    std::uint64_t branches = 0;
    std::uint64_t mispredicted = 0;
  };
  using functions = std::vector<std::pair<std::string, share>>;
  of_core& of(const core& c);
  // Returns the shares of one core, or of all cores if `only` is null.
  [[nodiscard]] functions by_function(const of_core* only) const;
  static void append(std::string& text, const functions& all);
  std::vector<of_core> cores_;
};

}  // namespace situ::model
