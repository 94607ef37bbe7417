// Where the packages come from: apt's lists, a saved file, or standard input; and what of them is installed. For place
// 0.
#pragma once

#include "package_list.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace package_rank {

struct input_options {
  std::string list;                // a file, "-" for standard input; empty: `apt-cache dumpavail`
  std::string status;              // dpkg's status file; empty: this machine's, if it has one
  std::string automatic;           // apt's extended_states; empty: this machine's, if `status` is this machine's, too
  std::vector<std::string> roots;  // instead of what is installed
  bool with_recommends = true;
  bool show_progress = false;  // on standard error
};

// Reads the whole list. Throws situ::error (bad_file) that says what to do: where apt has no lists, where the file
// cannot be read or is no package list, where it holds no package.
[[nodiscard]] package_graph read_packages(const input_options& options);

// Which packages a search may use and end at; see `mark`.
struct installation {
  std::vector<std::uint8_t> marks;  // by vertex
  std::size_t installed = 0;        // of these the list knows all but `not_listed`
  std::size_t not_listed = 0;
  std::size_t roots = 0;
  bool from_status = false;  // else from options.roots
};

// With options.roots every package is usable, and these are the roots. Else the status file decides. Nothing is marked
// where there is neither. Throws bad_argument for a root that is no package of the list.
[[nodiscard]] installation read_installation(const input_options& options, const package_graph& packages);

}  // namespace package_rank
