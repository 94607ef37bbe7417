// Questions to an index. Each is answered in one read section, so of one moment, whatever another process does, and the
// answer is in ordinary memory. Errors: bad_argument for a name that the index does not have, bad_file as index_of.
//
// A name stands for the package of that name and for every package that provides it, as in package_rank.
#pragma once

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace package_index {

// A name, and what has it.
struct named {
  std::string name;
  bool is_listed = false;  // else a virtual name, or one that nothing has
  std::string version;
  friend bool operator==(const named&, const named&) = default;
};

// All that is known of one name.
struct description {
  named of;
  std::string depends;  // as the list has it
  std::string provides;
  std::vector<std::string> given_by;   // what provides the name, in order
  std::vector<std::string> needed_by;  // what asks for it by this name, in order
  friend bool operator==(const description&, const description&) = default;
};
[[nodiscard]] description describe(const situ::pool& in, std::string_view name);

// Packages whose names begin so, at most so many, in order.
[[nodiscard]] std::vector<named> with_prefix(const situ::pool& in, std::string_view prefix, std::size_t most);

// Neighbours alone, or all that they lead to.
enum class reach : std::uint8_t { direct, all };
// What can satisfy the needs of a package, any of its alternatives; names that nothing has as well. In order.
[[nodiscard]] std::vector<named> depends(const situ::pool& in, std::string_view name, reach how_far);
// What needs a package, or something that it provides. In order.
[[nodiscard]] std::vector<named> dependents(const situ::pool& in, std::string_view name, reach how_far);

// What an index has.
struct census {
  int version = 0;
  std::uint64_t packages = 0;
  std::uint64_t names = 0;  // that others mention, and no package has
  std::uint64_t needs = 0;  // links
  std::uint64_t changes = 0;
};
// Also of version 1. cost: a walk through all packages.
[[nodiscard]] census take_census(const situ::pool& in);

// Throws bad_file where links do not lead back, a count is wrong, or a name is kept that nothing mentions; for tests
// and `stat --check`. cost: a walk through all links, and sorting those that lead back.
void check_links(const situ::pool& in);

}  // namespace package_index
