// All objects of a pool that has checks of them, looked at.
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
  // Only a walk by types makes objects whole of which some pointers are moved.
  if (file_.is_moving() && reached == nullptr) {
    into.notes.emplace_back(
        "objects are not looked at, since they were being moved to other addresses, and that was cut: open it for "
        "writing with the types of its roots (pool_opening::types)");
    return;
  }
  if (!levels_.empty() && log_.here().entries != 0) {
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

}  // namespace situ::detail
