// A run's report as one page of HTML that draws itself from the report's JSON, and loads no other files.
#pragma once

#include <string>
#include <string_view>

namespace situ::model {

// Returns the page. `json`: the result of report_json(), with a timeline.
[[nodiscard]] std::string report_page(std::string_view json);

}  // namespace situ::model
