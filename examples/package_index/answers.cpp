#include "answers.h"

#include "changes.h"
#include "schema.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

namespace package_index {
namespace {

named name_of(const package& it) { return {std::string{it.name.view()}, it.is_listed, std::string{it.version.view()}}; }

std::vector<std::string> names_of(const situ::pool_vector<package*>& those) {
  std::vector<std::string> names;
  for (const package* each : those) names.emplace_back(each->name.view());
  std::sort(names.begin(), names.end());
  return names;
}

const package& find(const situ::pool& in, std::string_view name) {
  const index& all = index_of(in);
  if (const package* const* found = all.packages.find(name)) return **found;
  const auto behind = all.packages.lower_bound(name);
  situ::throw_error(
      situ::errc::bad_argument,
      fmt::format("{} has no package '{}'{}; `package_index list {} PREFIX` shows names", in.info().path, name,
                  behind == all.packages.end() ? "" : fmt::format(", the next one is '{}'", behind.key().view()),
                  in.info().path));
}

// Calls visit(package) for neighbours, some of them twice.
using visitor = std::function<void(const package*)>;
void visit_needs(const package& of, const visitor& visit) {
  for (const package* wanted : of.needs) {
    if (wanted->is_listed || wanted->given_by.empty()) visit(wanted);
    for (const package* provider : wanted->given_by) visit(provider);
  }
}
void visit_needing(const package& of, const visitor& visit) {
  for (const package* each : of.needed_by) visit(each);
  for (const package* given : of.gives)
    for (const package* each : given->needed_by) visit(each);
}

template <class Visit>
std::vector<named> reached(const situ::pool& in, std::string_view name, reach how_far, Visit neighbours) {
  return in.read([&] {
    const package& start = find(in, name);
    std::unordered_set<const package*> seen{&start};
    std::vector<const package*> found{&start};
    for (std::size_t next = 0; next < (how_far == reach::all ? found.size() : 1); ++next)
      neighbours(*found[next], [&](const package* each) {
        if (seen.insert(each).second) found.push_back(each);
      });
    std::vector<named> answer;
    for (std::size_t i = 1; i < found.size(); ++i) answer.push_back(name_of(*found[i]));
    std::sort(answer.begin(), answer.end(), [](const named& a, const named& b) { return a.name < b.name; });
    return answer;
  });
}

[[noreturn]] void inconsistent(const situ::pool& in, const std::string& what) {
  situ::throw_error(situ::errc::bad_file,
                    fmt::format("{}: {}; build the index anew from its list", in.info().path, what));
}

using links = situ::pool_vector<package*>;

// Links of one kind are those of the other, turned round.
void check_direction(const situ::pool& in, const index& all, links package::* there, links package::* back) {
  std::vector<std::pair<const package*, const package*>> forward, turned;
  for (const auto& [name, it] : all.packages) {
    for (const package* to : it->*there) forward.emplace_back(it, to);
    for (const package* from : it->*back) turned.emplace_back(from, it);
  }
  std::sort(forward.begin(), forward.end());
  std::sort(turned.begin(), turned.end());
  if (std::adjacent_find(forward.begin(), forward.end()) != forward.end()) inconsistent(in, "a link is there twice");
  if (forward != turned)
    inconsistent(in, fmt::format("{} links, and {} that lead back", forward.size(), turned.size()));
}

}  // namespace

description describe(const situ::pool& in, std::string_view name) {
  return in.read([&] {
    const package& it = find(in, name);
    return description{name_of(it), std::string{it.depends.view()}, std::string{it.provides.view()},
                       names_of(it.given_by), names_of(it.needed_by)};
  });
}

std::vector<named> with_prefix(const situ::pool& in, std::string_view prefix, std::size_t most) {
  return in.read([&] {
    std::vector<named> answer;
    const index& all = index_of(in);
    for (auto at = all.packages.lower_bound(prefix); at != all.packages.end() && answer.size() < most; ++at) {
      if (!at.key().view().starts_with(prefix)) break;
      if (at.value()->is_listed) answer.push_back(name_of(*at.value()));
    }
    return answer;
  });
}

std::vector<named> depends(const situ::pool& in, std::string_view name, reach how_far) {
  return reached(in, name, how_far, visit_needs);
}

std::vector<named> dependents(const situ::pool& in, std::string_view name, reach how_far) {
  return reached(in, name, how_far, visit_needing);
}

census take_census(const situ::pool& in) {
  return in.read([&] {
    census told{.version = version_of(in)};
    if (told.version == 1) {
      const v1::index& all = *in.root<v1::index>(root_name);
      told.packages = all.packages.size();
      told.changes = all.changes;
      return told;
    }
    const index& all = index_of(in);
    told.packages = all.listed;
    told.names = all.packages.size() - all.listed;
    told.changes = all.changes;
    for (const auto& [name, it] : all.packages) told.needs += it->needs.size();
    return told;
  });
}

void check_links(const situ::pool& in) {
  in.read([&] {
    const index& all = index_of(in);
    std::uint64_t listed = 0;
    for (const auto& [name, it] : all.packages) {
      if (it->name != name) inconsistent(in, fmt::format("'{}' leads to '{}'", name.view(), it->name.view()));
      listed += it->is_listed;
      if (!it->is_listed && it->needed_by.empty() && it->given_by.empty())
        inconsistent(in, fmt::format("'{}' is kept, and nothing mentions it", name.view()));
    }
    if (listed != all.listed) inconsistent(in, fmt::format("{} packages, and {} were counted", listed, all.listed));
    check_direction(in, all, &package::needs, &package::needed_by);
    check_direction(in, all, &package::gives, &package::given_by);
  });
}

}  // namespace package_index
