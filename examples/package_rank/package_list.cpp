#include "package_list.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace package_rank {
namespace {

enum wanted_field : std::size_t {
  package_field,
  version_field,
  provides_field,
  filename_field,
  depends_field,
  pre_depends_field,
  recommends_field
};
constexpr std::array<const char*, 7> field_names{"package", "version",     "provides",  "filename",
                                                 "depends", "pre-depends", "recommends"};

std::vector<std::string> wanted_fields(bool with_recommends) {
  return {field_names.begin(), field_names.end() - (with_recommends ? 0 : 1)};
}

void sort_unique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

std::optional<vertex> package_graph::find(std::string_view name) const {
  const auto found = std::lower_bound(names.begin(), names.end(), name);
  if (found == names.end() || *found != name) return std::nullopt;
  return static_cast<vertex>(found - names.begin());
}

package_list::package_list(bool with_recommends)
    : reader_{wanted_fields(with_recommends), [this](const stanza& s) { take(s); }} {}

package_list::symbol package_list::intern(std::string_view name) {
  if (const auto found = symbols_.find(name); found != symbols_.end()) return found->second;
  const symbol fresh = static_cast<symbol>(symbol_names_.size());
  const auto added = symbols_.emplace(name, fresh).first;
  symbol_names_.push_back(&added->first);
  package_of_symbol_.push_back(no_vertex);
  return fresh;
}

void package_list::read_relations(const stanza& s, std::size_t field, std::vector<symbol>& into) {
  try {
    for (const alternative& a : parse_relations(s.values[field])) into.push_back(intern(a.name));
  } catch (const situ::error& e) {
    situ::throw_error(situ::errc::bad_file, fmt::format("the stanza at line {} (package {}), field {}: {}", s.line,
                                                        s.values[package_field], field_names[field], e.message()));
  }
}

void package_list::take(const stanza& s) {
  const std::string& name = s.values[package_field];
  if (name.empty() || name.find_first_of(" \t\n") != std::string::npos)
    situ::throw_error(situ::errc::bad_file, fmt::format("the stanza at line {} has no package name", s.line));
  ++stanzas_;
  if (!s.values[filename_field].empty()) ++with_filename_;
  package fresh{intern(name), s.values[version_field], {}, {}};
  read_relations(s, provides_field, fresh.provides);
  for (std::size_t field = depends_field; field < s.values.size(); ++field) read_relations(s, field, fresh.needs);

  std::uint32_t& known = package_of_symbol_[fresh.name];
  if (known == no_vertex) {
    known = static_cast<std::uint32_t>(packages_.size());
    packages_.push_back(std::move(fresh));
  } else if (compare_versions(packages_[known].version, fresh.version) < 0) {
    packages_[known] = std::move(fresh);
  }
}

// The names of a whole list, as vertices.
struct package_list::resolver {
  explicit resolver(const package_list& list)
      : vertex_of_package(list.packages_.size()), providers(list.symbol_names_.size()) {
    by_name.resize(list.packages_.size());
    std::iota(by_name.begin(), by_name.end(), 0u);
    std::sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) {
      return *list.symbol_names_[list.packages_[a].name] < *list.symbol_names_[list.packages_[b].name];
    });
    for (vertex v = 0; v < by_name.size(); ++v) {
      vertex_of_package[by_name[v]] = v;
      for (const symbol provided : list.packages_[by_name[v]].provides) providers[provided].push_back(v);
    }
  }
  std::vector<std::uint32_t> by_name;  // vertex -> package
  std::vector<vertex> vertex_of_package;
  std::vector<std::vector<vertex>> providers;  // of each symbol
};

package_graph package_list::finish() {
  reader_.finish();
  const resolver names{*this};
  package_graph result;
  result.stanzas = stanzas_;
  result.with_filename = with_filename_;
  std::vector<bool> unknown(symbol_names_.size());
  std::vector<vertex> row;
  for (const std::uint32_t index : names.by_name) {
    row.clear();
    for (const symbol needed : packages_[index].needs) {
      const std::uint32_t real = package_of_symbol_[needed];
      if (real != no_vertex) row.push_back(names.vertex_of_package[real]);
      row.insert(row.end(), names.providers[needed].begin(), names.providers[needed].end());
      if (real == no_vertex && names.providers[needed].empty()) unknown[needed] = true;
    }
    result.dependencies.append_row(row);
    result.names.push_back(*symbol_names_[packages_[index].name]);
  }
  result.unknown_names = static_cast<std::size_t>(std::count(unknown.begin(), unknown.end(), true));
  for (symbol s = 0; s < symbol_names_.size(); ++s)
    if (package_of_symbol_[s] == no_vertex && !names.providers[s].empty()) ++result.virtual_names;
  return result;
}

bool is_installed(std::string_view status) noexcept {
  const std::string_view state = status.substr(status.rfind(' ') + 1);
  return !state.empty() && state != "not-installed" && state != "config-files" && state != "half-installed";
}

installed_packages read_installed(std::string_view status, std::string_view automatic) {
  installed_packages result;
  std::vector<std::string> essential;
  control_reader status_reader{{"package", "status", "essential"}, [&](const stanza& s) {
                                 if (!is_installed(s.values[1])) return;
                                 result.names.push_back(s.values[0]);
                                 if (s.values[2] == "yes") essential.push_back(s.values[0]);
                               }};
  status_reader.feed(status);
  status_reader.finish();
  sort_unique(result.names);
  sort_unique(essential);

  std::vector<std::string> marked;
  control_reader mark_reader{
      {"package", "auto-installed"}, [&](const stanza& s) {
        if (s.values[1] == "1" && !std::binary_search(essential.begin(), essential.end(), s.values[0]))
          marked.push_back(s.values[0]);
      }};
  mark_reader.feed(automatic);
  mark_reader.finish();
  sort_unique(marked);
  std::set_difference(result.names.begin(), result.names.end(), marked.begin(), marked.end(),
                      std::back_inserter(result.roots));
  return result;
}

}  // namespace package_rank
