// A package list in ordinary memory: what an index is built from, and brought up to. A value.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace package_index {

// Of each package what an index keeps. Fields are as the list has them, folded lines joined by a blank.
struct listed_package {
  std::string version;
  std::string depends;  // Pre-Depends and Depends
  std::string provides;
  friend bool operator==(const listed_package&, const listed_package&) = default;
};

// By name. Of several stanzas with one name the newest version counts, the first among equals; those whose Status says
// that nothing of them is installed do not.
using listing = std::map<std::string, listed_package, std::less<>>;

// Reads a list: a file, "-" for standard input, empty for apt's. Throws situ::error (bad_file) that names the list and
// the stanza, and says what to do; also where there is no package in it.
[[nodiscard]] listing read_listing(const std::string& list);

// The names in a field that holds relations: each once, in its order, without one's own. Throws bad_file.
[[nodiscard]] std::vector<std::string_view> names_in(std::string_view field, std::string_view own);

}  // namespace package_index
