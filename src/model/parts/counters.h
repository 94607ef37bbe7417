// The counters of a machine's parts, for text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::model {

// The counters of one part. Times are in picoseconds, and their names say so: "busy_ps". The caller that prints
// computes averages.
struct part_counters {
  std::string part;  // "L2 3", "dram 0", "link 1,0 -> 2,0"
  std::string kind;  // "core", "cache", "bus", "adapter", "link", "memory-side cache", "memory", "tlb", "graph unit"
  std::vector<std::pair<std::string, std::uint64_t>> values;

  // Returns a counter by its name; 0 if the part has no counter of that name.
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const noexcept {
    for (const auto& [key, value] : values)
      if (key == name) return value;
    return 0;
  }

  // Appends the counter of requests for a time that the part has forgotten (busy_calendar.h), if there were any: a run
  // in which there are some is the exception.
  static constexpr std::string_view too_late = "too_late";
  void append_too_late(std::uint64_t requests) {
    if (requests != 0) values.emplace_back(too_late, requests);
  }
};

// Returns a table per kind, with a row per part, for people: times in the unit that suits each. Parts that counted
// nothing are left out. The text ends with a newline.
[[nodiscard]] std::string to_text(const std::vector<part_counters>& parts);
// [{"part": "L2 3", "kind": "cache", "hits": 12, ...}, ...]
[[nodiscard]] std::string to_json(const std::vector<part_counters>& parts, int indent = 2);

}  // namespace situ::model
