// A study's result as text, as JSON and as one self-contained page of HTML with its plots as SVG.
#pragma once

#include <string>

#include "support/study.h"

namespace situ::studies {

// Tables, for a terminal. Ends with a newline.
[[nodiscard]] std::string to_text(const study_result& result);
// A row a figure, and the points of all plots.
[[nodiscard]] std::string to_json(const study_result& result);
// No script, no font and no file from elsewhere.
[[nodiscard]] std::string to_html(const study_result& result);
// One plot: an <svg> element. Points that are not positive are left out. Without any: only the title.
[[nodiscard]] std::string to_svg(const plot& drawn);
// For text between tags and in attributes.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace situ::studies
