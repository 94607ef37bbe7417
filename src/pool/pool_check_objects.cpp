// Checks the objects of a pool that has object checks: all objects, or those that one root reaches.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include "pool/object_checks.h"
#include "pool/open_pool.h"
#include "pool/reachability.h"

namespace situ::detail {

void open_pool::check_objects(pool_findings& into, const reachability* reached) const {
  if (!file_.has_checks()) return;
  if (!into.damage.empty()) {
    into.notes.emplace_back("objects are not looked at until its structures are sound");
    return;
  }
  // After an interrupted move, only a walk by types completes the objects whose pointers were moved in part.
  if (file_.is_moving() && reached == nullptr) {
    into.notes.emplace_back(
        "objects are not looked at, since they were being moved to other addresses, and that was cut: open it for "
        "writing with the types of its roots (pool_opening::types)");
    return;
  }
  if (is_changing_objects()) {
    into.notes.emplace_back("objects are not looked at within a transaction that changes some");
    return;
  }
  const block_table blocks{file_, chunks_now()};
  blocks.for_each_live([&](const block_table::block& each) {
    ++into.checked_blocks;
    const object_check difference =
        object_difference(file_.base(), each.offset, each.bytes, each.check_offset, file_.salt());
    if (difference == 0) return;
    std::string what = reached != nullptr && reached->has(each) ? reached->type_of(each).name : "an object";
    for (std::uint32_t i = 0; i < pool_root_count; ++i)
      if (!roots()[i].is_empty() && roots()[i].offset == each.offset)
        what += fmt::format(", root '{}'", roots()[i].text());
    into.damage.push_back(tell_of_changed_object(each.offset, each.bytes, each.check_offset, difference, what));
  });
}

void open_pool::begin_verifying() {
  if (!file_.has_checks())
    throw_error(errc::bad_argument,
                fmt::format("pool {}: its objects have no checks, so its roots cannot be verified; make a pool with "
                            "pool_options::object_checks, and bring them there",
                            file_.path()));
  verifies_roots_ = true;
}

void open_pool::verify(const pool_root_record& root, const type_descriptor& type) {
  if (is_changing_objects()) return;
  const std::lock_guard one{private_lock_};
  if (verified_.contains(root.offset)) return;
  const block_table blocks{file_, chunks_now()};
  reachability reached{file_, blocks};
  reached.add_root(root.offset, type);
  blocks.for_each_live([&](const block_table::block& each) {
    if (!reached.has(each)) return;
    const object_check difference =
        object_difference(file_.base(), each.offset, each.bytes, each.check_offset, file_.salt());
    if (difference == 0) return;
    const std::string what = fmt::format("{}, which root '{}' reaches", reached.type_of(each).name, root.text());
    throw_error(errc::bad_file,
                fmt::format("pool {}, {}", file_.path(),
                            tell_of_changed_object(each.offset, each.bytes, each.check_offset, difference, what)));
  });
  verified_.insert(root.offset);
}

}  // namespace situ::detail
