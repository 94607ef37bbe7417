#include <situ/base/error_code.h>
#include <situ/spread/detail/sort_parts.h>

#include <fmt/format.h>

namespace situ::detail {

void throw_no_room_to_sort(const team& members, std::uint32_t member) {
  throw_error(errc::out_of_memory, fmt::format("place {} has no room in its segment for a copy of its elements, from "
                                               "which the others fetch theirs in a sort",
                                               members.member(member).index()));
}

}  // namespace situ::detail
