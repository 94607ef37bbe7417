// A document made of what this machine knows of Debian's packages: some 20 MB of JSON with every kind of value.
#pragma once

#include <string>

namespace json_ship {

inline constexpr const char* generated_source = "apt-cache dumpavail";

// Reads the list as package_rank does, whose errors it throws: bad_file that says what to do where apt has no lists.
[[nodiscard]] std::string generate_text();

}  // namespace json_ship
