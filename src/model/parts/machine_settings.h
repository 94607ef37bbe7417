// A machine's file with some of its figures changed: `situ model run --set l2.size=64KiB`.
//
// Settings are put into the text, before anybody reads it: what checks the file checks them, and names the line. A
// value of texts needs no quotes: 64KiB stands for "64KiB". Keys are
//
//   l2.size         of the node with that id
//   link.latency    of the file's link; where it has several, link0.latency, link1.latency
//   coherence       of the machine, before its first node
//
// cost: linear in the text, for each setting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// The text with each of `settings`, "KEY=VALUE". Throws bad_argument for what is not of that form, for a key whose node
// the text does not have, naming those that it has, and for one whose value goes over several lines.
[[nodiscard]] std::string apply_settings(std::string_view text, std::string_view file_name,
                                         const std::vector<std::string>& settings);

}  // namespace situ::model
