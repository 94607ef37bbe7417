// Migration of roots whose types have changed, from version to version. Each step is done as a whole or not at all.
//
//   namespace v1 { struct entry { long key; entry* next; }; }             // as it was; version 2 is the program's own
//   struct entry { long key; long uses; entry* next; };
//
//   pool.migrate("head", situ::pool_migration<v1::entry, entry>{
//                            .name = "count uses",
//                            .convert = [](situ::transaction& t, v1::entry* old) { ... return first; },
//                            .old_names = {{"v1::", ""}}});
//
// A root is stored with a fingerprint of its type: its name, its fields, and those of all types that it leads to. A
// program that knows the older types therefore finds which steps are left: a pool of version 1 goes to 3 through 2. In
// the program the older types have other names than when they were stored; `old_names` and `new_names` map them. Use it
// from one thread, and let no other thread or process use the root during the migration. Errors: bad_file for a root
// that no step accepts, bad_argument for steps that do not follow each other.
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

// A step from one type of a root to the next.
template <class Old, class New>
struct pool_migration {
  // Name of this step in messages and in pool_migrated.
  std::string name;
  // Makes the new root from the old one. The old root may stay unchanged or be destroyed with everything it leads to;
  // objects that are not destroyed leak. It runs in one transaction; an exception rolls the transaction back and is
  // rethrown.
  std::function<New*(transaction&, Old*)> convert;
  // For roots that are too large for one transaction: called after `convert`, each time in a transaction of its own,
  // until it returns false. It must remove from the old root what it has moved to the new one, so that the step resumes
  // at the point at which it stopped, also in another process. Until the step is done, the root is refused as either
  // type.
  std::function<bool(transaction&, Old*, New*)> go_on;
  // Names of types, or prefixes of names: first as in the program, then as they were when the roots were stored.
  // {{"v1::", ""}} maps v1::entry to entry.
  std::vector<std::pair<std::string, std::string>> old_names;
  std::vector<std::pair<std::string, std::string>> new_names;
};

// A step that was done.
struct pool_migrated {
  std::string name;
  std::uint64_t from = 0;  // fingerprints of the two types
  std::uint64_t to = 0;
  std::size_t transactions = 0;
  bool is_resumed = false;  // an earlier call, or another process, had begun the step
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
