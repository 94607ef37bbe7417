// The text of the rivals' programs and of what they include, and of the script that draws the plots.
#pragma once

#include <string_view>

namespace situ::bench {

struct rival_source {
  std::string_view path;  // below bench/
  std::string_view text;
};

extern const rival_source rival_sources[9];
extern const std::string_view plot_script;

}  // namespace situ::bench
