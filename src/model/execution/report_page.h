// A run's report as one page of HTML that draws itself out of the report's JSON, and needs nothing from elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace situ::model {

// `json`: what report_json() says, with a timeline.
[[nodiscard]] std::string report_page(std::string_view json);

}  // namespace situ::model
