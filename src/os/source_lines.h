// Finds source lines of code addresses in the program's debug information.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace situ::detail {

// Returns "stale_read.cpp:12" for each address that the program's debug information knows; for inlined code also the
// lines that it was inlined at, innermost first: "rma.h:33, from stale_read.cpp:12". Runs addr2line (binutils);
// returns nothing if it is not installed. `own_only` leaves out the lines in files of the system (below /usr). cost: a
// process for each 2000 addresses.
[[nodiscard]] std::map<std::uintptr_t, std::string> source_lines(const std::vector<std::uintptr_t>& code,
                                                                 bool own_only = false);

}  // namespace situ::detail
