// The coherence errors of a run: stale reads and lost writes, by the code that caused them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "model/parts/coherence_shadow.h"

namespace situ::model {

class coherence_log {
 public:
  void note(const coherence_report& found);
  [[nodiscard]] std::uint64_t stale_reads() const noexcept { return stale_reads_; }
  [[nodiscard]] std::uint64_t lost_writes() const noexcept { return lost_writes_; }
  // Returns a line per pair of places in the code, the most frequent first, with the first address, both tiles, and
  // both source lines. The text ends with a newline. cost: a process, if there are any errors.
  [[nodiscard]] std::string text() const;

 private:
  struct entry {
    std::uint64_t count = 0;
    coherence_report first;
  };
  std::map<std::tuple<coherence_report::what, std::uintptr_t, std::uintptr_t>, entry> entries_;
  std::uint64_t stale_reads_ = 0;
  std::uint64_t lost_writes_ = 0;
};

}  // namespace situ::model
