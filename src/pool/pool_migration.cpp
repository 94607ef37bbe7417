// Migrates roots whose types have changed: finds the steps that are left, and runs each of them in transactions.
//
// While a step takes several transactions, the root's record has a fingerprint of its own, made from those of both
// types. So the root is refused as either type, and a process that resumes the migration finds the step. The new object
// has a root of its own until the step ends.
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/pool/migration.h>

#include <fmt/format.h>

#include "pool/open_pool.h"

namespace situ {
namespace {

using detail::pool_migration_step;

struct prints {
  std::uint64_t from;
  std::uint64_t to;

  [[nodiscard]] std::uint64_t between() const noexcept {
    return detail::add_to_check(detail::add_to_check(0x6d696772, from), to);
  }
};

[[noreturn]] void refuse_steps(const std::string& path, std::string_view root, std::string_view what) {
  throw_error(errc::bad_argument, fmt::format("pool {}: the migration of root '{}' {}", path, root, what));
}

std::vector<prints> prints_of(const std::vector<pool_migration_step>& steps, const std::string& path,
                              std::string_view root) {
  std::vector<prints> all;
  for (const pool_migration_step& each : steps) {
    if (!each.convert) refuse_steps(path, root, fmt::format("has a step '{}' without convert", each.name));
    all.push_back({deep_fingerprint(*each.from.descriptor, each.old_names),
                   deep_fingerprint(*each.to.descriptor, each.new_names)});
    if (all.back().from == all.back().to)
      refuse_steps(path, root, fmt::format("has a step '{}' that changes nothing", each.name));
    const std::size_t count = all.size();
    if (count > 1 && all[count - 2].to != all.back().from)
      refuse_steps(path, root,
                   fmt::format("has steps that do not follow each other: '{}' makes {} ({:016x}), and '{}' takes {} "
                               "({:016x}); look at their types and names",
                               steps[count - 2].name, steps[count - 2].to.name, all[count - 2].to, each.name,
                               each.from.name, all.back().from));
  }
  if (all.empty()) refuse_steps(path, root, "has no steps");
  return all;
}

// Returns the last step that takes a root of this fingerprint, or that resumes its migration.
std::size_t step_for(std::uint64_t stored, const std::vector<pool_migration_step>& steps,
                     const std::vector<prints>& all, const std::string& path, std::string_view root) {
  for (std::size_t i = all.size(); i > 0; --i)
    if (all[i - 1].from == stored || (steps[i - 1].go_on && all[i - 1].between() == stored)) return i - 1;
  std::string known;
  for (std::size_t i = 0; i < all.size(); ++i)
    known +=
        fmt::format("{}'{}' takes {} ({:016x})", i == 0 ? "" : ", ", steps[i].name, steps[i].from.name, all[i].from);
  throw_error(errc::bad_file,
              fmt::format("pool {}: root '{}' was stored as a type with fingerprint {:016x}, which no step of its "
                          "migration takes: {}; add the steps from there on",
                          path, root, stored, known));
}

}  // namespace

std::vector<pool_migrated> pool::migrate_root(std::string_view name, std::vector<detail::pool_migration_step> steps) {
  const std::string path = core_->info().path;
  const std::vector<prints> all = prints_of(steps, path, name);
  const std::string hidden = std::string{name} + "+new";
  std::vector<pool_migrated> done;
  for (;;) {
    const auto stored = core_->stored_root(name);
    if (!stored.has_value() || stored->fingerprint == all.back().to) return done;
    const std::size_t number = step_for(stored->fingerprint, steps, all, path, name);
    const pool_migration_step& step = steps[number];
    const prints& print = all[number];
    pool_migrated result{step.name, print.from, print.to, 0, stored->fingerprint != print.from};
    if (!result.is_resumed) {
      transaction t{*this};
      void* const old = core_->root(name, step.from, print.from);
      void* const made = step.convert(t, old);
      if (made == nullptr)
        refuse_steps(path, name, fmt::format("got no object from '{}': convert returns the new root", step.name));
      core_->set_root(t.level_, step.go_on ? hidden : name, made, print.to, step.to.bytes);
      if (step.go_on) core_->set_root(t.level_, name, old, print.between(), step.from.bytes);
      t.commit();
      ++result.transactions;
    }
    for (bool is_left = static_cast<bool>(step.go_on); is_left; ++result.transactions) {
      transaction t{*this};
      void* const made = core_->root(hidden, step.to, print.to);
      if (made == nullptr)
        refuse_steps(path, name, fmt::format("has lost root '{}', which '{}' had made", hidden, step.name));
      is_left = step.go_on(t, core_->root(name, step.from, print.between()), made);
      if (!is_left) {
        core_->set_root(t.level_, name, made, print.to, step.to.bytes);
        core_->set_root(t.level_, hidden, nullptr, 0, 0);
      }
      t.commit();
    }
    log(log_level::info,
        fmt::format("pool {}: root '{}' is migrated by '{}', from {:016x} to {:016x}, in {} transactions", path, name,
                    step.name, print.from, print.to, result.transactions));
    done.push_back(std::move(result));
  }
}

}  // namespace situ
