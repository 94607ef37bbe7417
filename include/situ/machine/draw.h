// Renders a tree as text or JSON. Pure functions. cost: linear in the nodes and paths.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <string>

namespace situ::machine {

// Options of draw().
struct draw_options {
  bool unicode = true;  // lines of box-drawing characters in UTF-8; else of ASCII
  // Siblings that look alike are drawn once, as "32 x ...", if there are at least this many; 0 draws every one.
  std::uint32_t collapse_from = 4;
};

// Draws one line for each node, a chain of only children on one line: "L2 0 512 KiB + core 0 + pu 0"; then one for each
// link. Ends with a newline.
[[nodiscard]] std::string draw(const tree& machine, const draw_options& options = {});

// Returns {"name", "description", "nodes": [...], "paths": [...], "links": [...]}; bytes, bytes per second, hertz and
// nanoseconds are numbers; unknown figures are left out. `indent` as in nlohmann::json::dump: -1 is one line.
[[nodiscard]] std::string to_json(const tree& machine, int indent = 2);

}  // namespace situ::machine
