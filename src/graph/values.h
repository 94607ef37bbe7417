// The values of a graph: standard containers, strings and smart pointers that its objects hold. They are copied by
// writing them one after the other, and reading them at their destination; the reader allocates their memory.
//
// Invariants
//   1. The order is that of the objects in the copy, and within an object that of its parts.
//   2. Writing, as reading, is one pass over all values of the graph (runtime/detail/shared_objects.h), so objects that
//      smart pointers share stay shared.
//   3. A value of a copy is made by construct_values() and ends with its arena, or with the element of a container that
//      it is part of.
#pragma once

#include <situ/graph/detail/arena.h>
#include <situ/runtime/serialize.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace situ::detail {

// Adjacent objects of one type, with values: at the source, or in the copy.
struct value_holders {
  std::byte* first;
  const type_descriptor* type;  // of each object
  std::uint64_t count;
};

// Calls visit(bytes, functions) for each value of an object, without those of its containers' elements.
template <class Visit>
void visit_values_of(std::byte* object, const std::vector<op>& ops, Visit visit) {
  for (const op& each : ops) {
    if (each.kind == op_kind::value) {
      visit(object + each.offset, *each.value);
    } else if (each.kind == op_kind::choice) {
      const auto flag = static_cast<std::size_t>(object[each.offset]);
      if (flag < each.cases->alternatives.size()) visit_values_of(object, each.cases->alternatives[flag], visit);
    }
  }
}

// Reads the values of these objects, which are all that the reader has. If it throws, no value is left. Throws
// bad_message, and the exceptions of the values' types.
void construct_values(const std::vector<value_holders>& holders, wire_reader reader);

// Calls make(), which makes the values of an arena, with the arena's finalizers switched off, so that they do not visit
// missing values if make() throws.
template <class Make>
void without_finalizers(arena& a, Make make) {
  const std::uint64_t first = std::exchange(a.finalizers[0], 0);
  make();
  a.finalizers[0] = first;
}

}  // namespace situ::detail
