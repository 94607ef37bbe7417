// Reads the marks of assumed figures in a machine file: `assumed.entries = { low = 1, high = 4, source = "..." }` beside
// `entries = 1`. docs/design/machine.md describes the form.
#pragma once

#include <situ/base/spec_file.h>
#include <situ/machine/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// Appends the marks of a table, which may be the head of the file, a [[node]] or a [[link]], and checks each of them.
// owner: the name of the table in `--set`: "l2", "link"; empty for the head. Throws bad_file for a mark of a figure
// that the table does not have, for a mark without a source or without a range, and for a value outside its range.
void read_assumed(const spec_table& table, std::string_view owner, std::vector<assumption>& to);

}  // namespace situ::machine
