#include "graph/values.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

namespace situ::detail {
namespace {

template <class Visit>
void visit_values_of(const std::vector<value_holders>& holders, Visit visit) {
  for (const value_holders& each : holders)
    for (std::uint64_t i = 0; i < each.count; ++i)
      visit_values_of(each.first + i * each.type->size, each.type->others, visit);
}

}  // namespace

void construct_values(const std::vector<value_holders>& holders, wire_reader reader) {
  std::uint64_t made = 0;
  try {
    sharing_pass<read_objects> pass;
    visit_values_of(holders, [&](std::byte* at, const value_functions& functions) {
      functions.construct(reader, at);
      ++made;
    });
    pass.finish();
    if (reader.left() != 0)
      throw_error(errc::bad_message, fmt::format("object graph: {} bytes follow its last value", reader.left()));
  } catch (...) {
    visit_values_of(holders, [&](std::byte* at, const value_functions& functions) {
      if (made == 0) return;
      functions.destroy(at);
      --made;
    });
    throw;
  }
}

}  // namespace situ::detail
