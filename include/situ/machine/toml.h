// Trees as TOML: reads and writes the format of machines/*.toml (docs/design/machine.md). Thread-safe.
//
// parse_toml(to_toml(t), "") == t for every tree t. cost: linear in the text and in the tree that it describes.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// Reads the tree that a file, or a text, describes; errors call the text `file_name`. Throws bad_file, which names the
// file, line and key, and what to write. `where`, if given, gets the position of each node in the file, "<file>:<line>:
// node[2]", for the errors of callers that need more figures.
[[nodiscard]] tree read_toml(const std::string& path, std::vector<std::string>* where = nullptr);
[[nodiscard]] tree parse_toml(std::string_view text, std::string_view file_name,
                              std::vector<std::string>* where = nullptr);
// Returns the text that describes a tree.
[[nodiscard]] std::string to_toml(const tree& machine);

}  // namespace situ::machine
