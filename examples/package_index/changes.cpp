#include "changes.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace package_index {
namespace {

using links = situ::pool_vector<package*>;

constexpr std::size_t packages_each = 256;  // of what nobody else may see yet: its log stays small, and others get on
constexpr const char* unfinished_root = "packages, unfinished";

// Their order means nothing: the last one takes the place of the one that goes.
void remove_link(situ::transaction& t, links& from, const package* to) {
  const auto at = static_cast<std::size_t>(std::find(from.begin(), from.end(), to) - from.begin());
  from.set(t, at, from.back());
  from.pop_back(t);
}

package* find_or_make(situ::transaction& t, index& all, std::string_view name) {
  const auto [at, is_new] = all.packages.emplace(t, name, nullptr);
  if (is_new) {
    *at = t.make<package>();
    (*at)->name.assign(t, name);
  }
  return *at;
}

void forget_if_unmentioned(situ::transaction& t, index& all, package* it) {
  if (it->is_listed || !it->needed_by.empty() || !it->given_by.empty()) return;
  all.packages.erase(t, it->name);
  it->release(t);
  t.destroy(it);
}

// Sets one direction of links, and what leads back. Names that were there before are forgotten only after the new
// ones are linked, which may be the same.
void relink(situ::transaction& t, index& all, package& from, links package::* there, links package::* back,
            std::string_view field) {
  const std::vector<package*> before{(from.*there).begin(), (from.*there).end()};
  for (package* each : before) remove_link(t, each->*back, &from);
  (from.*there).clear(t);
  for (const std::string_view name : names_in(field, from.name)) {
    package* const to = find_or_make(t, all, name);
    (from.*there).push_back(t, to);
    (to->*back).push_back(t, &from);
  }
  for (package* each : before) forget_if_unmentioned(t, all, each);
}

void set_fields(situ::transaction& t, index& all, package& it, const listed_package& to) {
  if (it.version != to.version) it.version.assign(t, to.version);
  if (it.depends != to.depends) {
    it.depends.assign(t, to.depends);
    relink(t, all, it, &package::needs, &package::needed_by, to.depends);
  }
  if (it.provides != to.provides) {
    it.provides.assign(t, to.provides);
    relink(t, all, it, &package::gives, &package::given_by, to.provides);
  }
}

bool is_as_listed(const package& it, const listed_package& to) {
  return it.version == to.version && it.depends == to.depends && it.provides == to.provides;
}

bool has_root(const situ::pool& in) {
  const situ::pool_info told = in.info();
  return std::any_of(told.roots.begin(), told.roots.end(), [](const auto& each) { return each.name == root_name; });
}

void refuse_second(const situ::pool& in) {
  if (!has_root(in)) return;
  situ::throw_error(situ::errc::bad_argument,
                    fmt::format("{} has an index already: bring it up to a list by `package_index update`, or build "
                                "another file",
                                in.info().path));
}

template <class Index>
bool has_index(const situ::pool& in) {
  try {
    return in.root<Index>(root_name) != nullptr;
  } catch (const situ::error& other) {
    if (other.code() != situ::errc::bad_file) throw;
    return false;
  }
}

// All names of an index's packages and of a list, in order.
std::vector<std::string> names_of_both(situ::pool& in, const char* root, const listing& list) {
  std::vector<std::string> both;
  in.read([&] {
    for (const auto& [name, it] : in.root<index>(root)->packages)
      if (it->is_listed) both.emplace_back(name.view());
  });
  const auto known = static_cast<std::ptrdiff_t>(both.size());
  for (const auto& [name, listed] : list) both.push_back(name);
  std::inplace_merge(both.begin(), both.begin() + known, both.end());
  both.erase(std::unique(both.begin(), both.end()), both.end());
  return both;
}

void bring_one(situ::transaction& t, index& all, std::string_view name, const listing& to, update_counts& done) {
  package* const* const found = all.packages.find(name);
  const bool is_there = found != nullptr && (*found)->is_listed;
  const auto wanted = to.find(name);
  const bool is_wanted = wanted != to.end();
  if (is_there == is_wanted && (!is_there || is_as_listed(**found, wanted->second))) {
    ++done.unchanged;
    return;
  }
  ++(!is_wanted ? done.removed : is_there ? done.changed : done.added);
  is_wanted ? put(t, all, name, wanted->second) : drop(t, all, name);
  t.set(all.changes, all.changes + 1);
}

// Brings an index to a list, so many packages in a transaction.
update_counts bring_to(situ::pool& in, const char* root, const listing& to, std::size_t each) {
  const std::vector<std::string> names = names_of_both(in, root, to);
  update_counts done;
  for (std::size_t i = 0; i < names.size(); i += each)
    in.transact([&](situ::transaction& t) {
      index& all = *in.root<index>(root);
      for (std::size_t n = i; n < std::min(i + each, names.size()); ++n) bring_one(t, all, names[n], to, done);
    });
  return done;
}

bool bring_some(situ::transaction& t, v1::index* old, index* made) {
  for (std::size_t i = 0; i < packages_each && !old->packages.empty(); ++i) {
    const auto first = old->packages.begin();
    const std::string name{first.key().view()};
    v1::package* const it = first.value();
    put(t, *made, name,
        {std::string{it->version.view()}, std::string{it->depends.view()}, std::string{it->provides.view()}});
    old->packages.erase(t, name);
    it->release(t);
    t.destroy(it);
  }
  if (!old->packages.empty()) return true;
  t.destroy(old);
  return false;
}

}  // namespace

void put(situ::transaction& t, index& all, std::string_view name, const listed_package& to) {
  package* const it = find_or_make(t, all, name);
  if (!it->is_listed) {
    t.set(it->is_listed, true);
    t.set(all.listed, all.listed + 1);
  }
  set_fields(t, all, *it, to);
}

void drop(situ::transaction& t, index& all, std::string_view name) {
  package* const* const found = all.packages.find(name);
  if (found == nullptr || !(*found)->is_listed) return;
  package* const it = *found;
  set_fields(t, all, *it, {});
  t.set(it->is_listed, false);
  t.set(all.listed, all.listed - 1);
  forget_if_unmentioned(t, all, it);
}

void build(situ::pool& in, const listing& from) {
  refuse_second(in);
  in.transact([&](situ::transaction& t) {
    if (in.root<index>(unfinished_root) == nullptr) t.set_root(unfinished_root, t.make<index>());
  });
  (void)bring_to(in, unfinished_root, from, packages_each);
  in.transact([&](situ::transaction& t) {
    t.set_root(root_name, in.root<index>(unfinished_root));
    t.unlink(unfinished_root);
  });
}

void build_version_1(situ::pool& in, const listing& from) {
  refuse_second(in);
  in.transact([&](situ::transaction& t) {
    auto* const all = t.make<v1::index>();
    all->changes = from.size();
    t.set_root(root_name, all);
    for (const auto& [name, listed] : from) {
      auto* const it = t.make<v1::package>();
      it->version.assign(t, listed.version);
      it->depends.assign(t, listed.depends);
      it->provides.assign(t, listed.provides);
      all->packages.insert(t, name, it);
    }
  });
}

update_counts update(situ::pool& in, const listing& to) {
  (void)index_of(in);  // says what is missing
  return bring_to(in, root_name, to, 1);
}

std::vector<situ::pool_migrated> migrate(situ::pool& in) {
  if (!has_root(in)) (void)index_of(in);  // says that there is none
  return in.migrate(root_name, situ::pool_migration<v1::index, index>{
                                   .name = "link packages",
                                   .convert =
                                       [](situ::transaction& t, v1::index* old) {
                                         auto* const made = t.make<index>();
                                         made->changes = old->changes;
                                         return made;
                                       },
                                   .go_on = bring_some,
                               });
}

int version_of(const situ::pool& in) {
  return in.read([&] { return has_index<index>(in) ? 2 : has_index<v1::index>(in) ? 1 : 0; });
}

index& index_of(const situ::pool& in) {
  try {
    if (index* const all = in.root<index>(root_name)) return *all;
  } catch (const situ::error& other) {
    if (other.code() != situ::errc::bad_file) throw;
    const bool is_older = has_index<v1::index>(in);
    situ::throw_error(situ::errc::bad_file,
                      fmt::format("{}: its index {}: run `package_index migrate {}`. {}", in.info().path,
                                  is_older ? "has version 1, and this program needs 2"
                                           : "is no version 2, or a migration to it was cut",
                                  in.info().path, other.message()));
  }
  situ::throw_error(situ::errc::bad_file,
                    fmt::format("{} has no index, or its making was cut: run `package_index build {}`", in.info().path,
                                in.info().path));
}

}  // namespace package_index
