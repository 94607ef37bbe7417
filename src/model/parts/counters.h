// What the parts of a machine have counted, for text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::model {

// The counters of one part. Times are in picoseconds, and so called: "busy_ps". Averages are left to whoever prints.
struct part_counters {
  std::string part;  // "L2 3", "dram 0", "link 1,0 -> 2,0"
  std::string kind;  // "core", "cache", "bus", "adapter", "link", "memory"
  std::vector<std::pair<std::string, std::uint64_t>> values;

  // A counter by its name; 0 where the part has none of that name.
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const noexcept {
    for (const auto& [key, value] : values)
      if (key == name) return value;
    return 0;
  }
};

// A table of each kind, a row a part; parts that counted nothing are left out. Ends with a newline.
[[nodiscard]] std::string to_text(const std::vector<part_counters>& parts);
// [{"part": "L2 3", "kind": "cache", "hits": 12, ...}, ...]
[[nodiscard]] std::string to_json(const std::vector<part_counters>& parts, int indent = 2);

}  // namespace situ::model
