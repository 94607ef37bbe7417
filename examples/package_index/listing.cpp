#include "listing.h"

#include "control_file.h"
#include "package_list.h"
#include "package_source.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

namespace package_index {
namespace {

enum wanted_field : std::size_t {
  package_field,
  version_field,
  status_field,
  filename_field,
  pre_depends_field,
  depends_field,
  provides_field,
};
constexpr std::array<const char*, 7> field_names{"package",     "version", "status",  "filename",
                                                 "pre-depends", "depends", "provides"};

[[noreturn]] void bad_stanza(const package_rank::stanza& s, const std::string& what) {
  situ::throw_error(situ::errc::bad_file,
                    fmt::format("the stanza at line {} (package '{}'): {}", s.line, s.values[package_field], what));
}

// A field in one line, that names_in will take.
std::string relations(const package_rank::stanza& s, std::size_t field) {
  std::string text = s.values[field];
  std::replace(text.begin(), text.end(), '\n', ' ');
  try {
    (void)package_rank::parse_relations(text);
  } catch (const situ::error& e) {
    bad_stanza(s, fmt::format("field {}: {}", field_names[field], e.message()));
  }
  return text;
}

// Adds a stanza; whether it is one of an archive.
bool take(listing& all, const package_rank::stanza& s) {
  const std::string& name = s.values[package_field];
  if (name.empty() || name.find_first_of(" \t\n") != std::string::npos) bad_stanza(s, "that is no name of a package");
  const std::string& status = s.values[status_field];
  if (!status.empty() && !package_rank::is_installed(status)) return false;
  listed_package fresh{s.values[version_field], relations(s, pre_depends_field), relations(s, provides_field)};
  const std::string depends = relations(s, depends_field);
  if (!fresh.depends.empty() && !depends.empty()) fresh.depends += ", ";
  fresh.depends += depends;
  const auto [at, is_new] = all.try_emplace(name, fresh);
  if (!is_new && package_rank::compare_versions(at->second.version, fresh.version) < 0) at->second = std::move(fresh);
  return !s.values[filename_field].empty();
}

}  // namespace

listing read_listing(const std::string& list) {
  listing all;
  bool is_archive = false;
  package_rank::control_reader reader{{field_names.begin(), field_names.end()},
                                      [&](const package_rank::stanza& s) { is_archive |= take(all, s); }};
  package_rank::read_source(list, [&](std::string_view piece) { reader.feed(piece); });
  package_rank::about(package_rank::describe_source(list), [&] { reader.finish(); });
  if (list.empty() && !is_archive) package_rank::no_lists_of_apt();
  if (all.empty())
    situ::throw_error(
        situ::errc::bad_file,
        fmt::format("{} holds no package that is there: pass a list such as `apt-cache dumpavail` writes, "
                    "or /var/lib/dpkg/status",
                    package_rank::describe_source(list)));
  return all;
}

std::vector<std::string_view> names_in(std::string_view field, std::string_view own) {
  std::vector<std::string_view> names;
  std::unordered_set<std::string_view> seen{own};
  for (const package_rank::alternative& each : package_rank::parse_relations(field))
    if (seen.insert(each.name).second) names.push_back(each.name);
  return names;
}

}  // namespace package_index
