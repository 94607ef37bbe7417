// Where in the sources code of the program is, by its debug information.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace situ::detail {

// "stale_read.cpp:12" of each address that the program's debug information knows; of code that was inlined, the lines
// that it was inlined at too, from the inside: "rma.h:33, from stale_read.cpp:12". Asks addr2line (binutils): nothing
// where that is not there. cost: a process.
[[nodiscard]] std::map<std::uintptr_t, std::string> source_lines(const std::vector<std::uintptr_t>& code);

}  // namespace situ::detail
