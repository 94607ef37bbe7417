// A machine's file with some of its figures changed: `situ model run --set l2.size=64KiB`.
//
// Settings are put into the text before the text is parsed: the checks of the file also check the settings, and name
// the line. A text value needs no quotes: 64KiB stands for "64KiB". Keys are
//
//   l2.size         of the node with that id
//   link.latency    of the file's link; if the file has several, link0.latency, link1.latency
//   coherence       of the machine, before its first node
//
// The values `low` and `high` of a figure that the file marks as assumed are the ends of its range. A figure that is
// set is not assumed any more: its mark goes, so any value may be set. Marks have a line each in the file.
//
// cost: linear in the text, for each setting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// Returns the text with each of `settings`, "KEY=VALUE", applied. Throws bad_argument for a setting of another form,
// for a key whose node the text does not have (the message lists the text's nodes), for a key whose value in the text
// spans several lines, and for `low` or `high` of a marked word.
[[nodiscard]] std::string apply_settings(std::string_view text, std::string_view file_name,
                                         const std::vector<std::string>& settings);

}  // namespace situ::model
