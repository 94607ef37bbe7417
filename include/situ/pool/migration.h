// Roots whose types have changed: brought from one version to the next, step by step, each whole or not at all.
//
//   namespace v1 { struct entry { long key; entry* next; }; }             // as it was; version 2 is the program's own
//   struct entry { long key; long uses; entry* next; };
//
//   pool.migrate("head", situ::pool_migration<v1::entry, entry>{
//                            .name = "count uses",
//                            .convert = [](situ::transaction& t, v1::entry* old) { ... return first; },
//                            .old_names = {{"v1::", ""}}});
//
// A root says by a fingerprint which type it was stored as: its name, its fields, and those of all that it leads to. So
// a program that knows the types of before finds out which steps are left: a pool of version 1 goes to 3 through 2. The
// types of before have other names in the program than they had when they were stored; `old_names` and `new_names` say
// which. Use it from one thread; nobody else may use the root meanwhile. Errors: bad_file for a root that no step
// takes, bad_argument for steps that do not follow each other.
#pragma once

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ {

// A step from one type of a root to another.
template <class Old, class New>
struct pool_migration {
  // What it is called where it is told that it was done.
  std::string name;
  // Makes the new root of the old one, which stays as it is, or is destroyed with all that it leads to: what is left is
  // not found again. One transaction; what it throws takes all of it back, and is thrown on.
  std::function<New*(transaction&, Old*)> convert;
  // For what is too large for one transaction: called after `convert` in transactions of its own until it returns
  // false. It takes from the old what it has put into the new, so it goes on where it was, also in another process.
  // Until it is done, the root is refused as either type.
  std::function<bool(transaction&, Old*, New*)> go_on;
  // Names of types, or their beginnings, as they are in the program, and as they were when roots were stored:
  // {{"v1::", ""}} takes v1::entry for what was entry.
  std::vector<std::pair<std::string, std::string>> old_names;
  std::vector<std::pair<std::string, std::string>> new_names;
};

// A step that was done.
struct pool_migrated {
  std::string name;
  std::uint64_t from = 0;  // fingerprints of the types
  std::uint64_t to = 0;
  std::size_t transactions = 0;
  bool is_resumed = false;  // another process, or an earlier call, had begun it
};

namespace detail {

struct pool_migration_step {
  std::string name;
  pool_type from;
  pool_type to;
  std::function<void*(transaction&, void*)> convert;
  std::function<bool(transaction&, void*, void*)> go_on;
  std::vector<std::pair<std::string, std::string>> old_names;
  std::vector<std::pair<std::string, std::string>> new_names;
};

template <class Old, class New>
[[nodiscard]] pool_migration_step step_of(const pool_migration<Old, New>& of) {
  static_assert(check_pool_object<New>());
  pool_migration_step step{of.name, pool_type_of<Old>(), pool_type_of<New>(), {}, {}, of.old_names, of.new_names};
  if (of.convert)
    step.convert = [convert = of.convert](transaction& t, void* old) -> void* {
      return convert(t, static_cast<Old*>(old));
    };
  if (of.go_on)
    step.go_on = [go_on = of.go_on](transaction& t, void* old, void* made) {
      return go_on(t, static_cast<Old*>(old), static_cast<New*>(made));
    };
  return step;
}

}  // namespace detail

template <class... Old, class... New>
std::vector<pool_migrated> pool::migrate(std::string_view name, const pool_migration<Old, New>&... steps) {
  return migrate_root(name, {detail::step_of(steps)...});
}

}  // namespace situ
