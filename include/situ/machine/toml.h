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

// A figure of a machine file that has no source, with the range in which it is believed to be. In a file it stands
// beside the figure: `assumed.entries = { low = 1, high = 4, source = "..." }`.
struct assumption {
  std::string figure;               // as `--set` names it, "adapter.entries"; within a table "core.cycles.floating"
  std::string value;                // the value used, as a text: "60 ns"
  std::string low;                  // the ends of its range; empty if the figure is a word
  std::string high;                 // of the range
  std::vector<std::string> others;  // what a word could be instead: "reads"
  std::string source;               // the reason

  friend bool operator==(const assumption&, const assumption&) = default;
};

// Returns the range as a text: "1 to 4", or "or reads" for a word.
[[nodiscard]] std::string range_of(const assumption& figure);

// Reads the tree that a file, or a text, describes; errors call the text `file_name`. Throws bad_file, which names the
// file, line and key, and what to write. `where`, if given, gets the position of each node in the file, "<file>:<line>:
// node[2]", for the errors of callers that need more figures. `assumed`, if given, gets the assumed figures, table by
// table of the file; they are marks of the file, not of the tree.
[[nodiscard]] tree read_toml(const std::string& path, std::vector<std::string>* where = nullptr,
                             std::vector<assumption>* assumed = nullptr);
[[nodiscard]] tree parse_toml(std::string_view text, std::string_view file_name,
                              std::vector<std::string>* where = nullptr, std::vector<assumption>* assumed = nullptr);
// Returns the text that describes a tree, without marks of assumed figures.
[[nodiscard]] std::string to_toml(const tree& machine);

}  // namespace situ::machine
