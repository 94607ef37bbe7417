#include "generate.h"

#include "input.h"
#include "reference.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <span>

namespace json_ship {
namespace {

std::string quoted(const std::string& characters) { return nlohmann::json(characters).dump(); }

void append_names(std::string& out, const std::vector<std::string>& names,
                  std::span<const package_rank::vertex> which) {
  out += '[';
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (i != 0) out += ',';
    out += quoted(names[which[i]]);
  }
  out += ']';
}

}  // namespace

std::string generate_text() {
  const package_rank::package_graph packages = package_rank::read_packages({});
  const package_rank::graph dependents = package_rank::transpose(packages.dependencies);
  const std::vector<double> ranks = package_rank::reference_ranks(packages.dependencies, {}).ranks;
  std::string out = fmt::format("{{\n  \"source\": {},\n  \"packages\": [", quoted(generated_source));
  for (package_rank::vertex v = 0; v < packages.names.size(); ++v) {
    fmt::format_to(std::back_inserter(out), "{}\n    {{\"name\": {}, \"rank\": {:.17g}, \"needs\": ", v == 0 ? "" : ",",
                   quoted(packages.names[v]), ranks[v]);
    append_names(out, packages.names, packages.dependencies.row(v));
    const std::span<const package_rank::vertex> needed_by = dependents.row(v);
    fmt::format_to(std::back_inserter(out), ", \"needed_by\": {}, \"is_leaf\": {}, \"first_dependent\": {}}}",
                   needed_by.size(), packages.dependencies.row(v).empty(),
                   needed_by.empty() ? "null" : quoted(packages.names[needed_by.front()]));
  }
  fmt::format_to(std::back_inserter(out), "\n  ],\n  \"virtual_names\": {},\n  \"unknown_names\": {}\n}}\n",
                 packages.virtual_names, packages.unknown_names);
  return out;
}

}  // namespace json_ship
