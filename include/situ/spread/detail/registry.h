// Finds an object that has one part at each place: all its parts share an identity, by which each place looks its part
// up.
//
// Parts are made collectively, so that the n-th object of a team has number n everywhere, or under a name. Not
// thread-safe: a place's registry belongs to its thread.
#pragma once

#include <situ/base/detail/type_name.h>
#include <situ/runtime/team.h>

#include <cstdint>
#include <string_view>

namespace situ::detail {

struct object_id {
  std::uint64_t team = 0;
  std::uint64_t number = 0;  // the object's number within the team; for a name its hash, with the highest bit set
  std::uint64_t type = 0;    // name_hash of its type, which must be the same at all places
  friend bool operator==(const object_id&, const object_id&) = default;
};

// Returns the identity of the next object that the members of a team make together. Collective, without a message.
[[nodiscard]] object_id next_object_id(const team& members, std::uint64_t type);
[[nodiscard]] object_id named_object_id(const team& members, std::string_view name, std::uint64_t type);

// Registers this place's part. Throws bad_argument if the name is taken.
void register_object(const object_id& id, void* part);
// Removes this place's part: later calls of find_object() for it get bad_argument. Does nothing outside a runtime.
void unregister_object(const object_id& id) noexcept;
// Returns this place's part; waits until it is registered. Throws bad_argument if it was removed or has another type.
[[nodiscard]] void* find_object(const object_id& id);

}  // namespace situ::detail
