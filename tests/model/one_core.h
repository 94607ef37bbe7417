// The last nodes of small machines, as text: a core of 1 GHz behind a first cache of this size, whose hits take 1 ns.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace situ::model {

inline std::string one_core(std::string_view size, int ways) {
  return fmt::format(R"([[node]]
id = "l1"
kind = "cache"
level = 1
size = "{}"
ways = {}
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, call = 3 }}
)",
                     size, ways);
}

}  // namespace situ::model
