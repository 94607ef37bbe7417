// Trees as TOML: machines/*.toml, and back. docs/design/machine.md describes the format. Thread-safe.
//
// parse_toml(to_toml(t), "") == t for every tree t. cost: linear in the text and in the tree that it says.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// The tree that a file, or a text, describes; `file_name` is what errors call the text. Throws bad_file, naming file,
// line and key, and what to write.
// `where`, if given, gets the place in the file of each node: "<file>:<line>: node[2]", for errors of whoever needs
// more figures.
[[nodiscard]] tree read_toml(const std::string& path, std::vector<std::string>* where = nullptr);
[[nodiscard]] tree parse_toml(std::string_view text, std::string_view file_name,
                              std::vector<std::string>* where = nullptr);
// The text that describes a tree.
[[nodiscard]] std::string to_toml(const tree& machine);

}  // namespace situ::machine
