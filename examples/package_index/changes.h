// What changes an index: building it, bringing it up to a list, migrating it. Errors: as transaction's, and bad_file
// where the pool has another index, or none.
#pragma once

#include "listing.h"
#include "schema.h"

#include <situ/pool/migration.h>
#include <situ/pool/pool.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace package_index {

// Makes a package of this name what the list says, with all its links.
void put(situ::transaction& t, index& all, std::string_view name, const listed_package& to);
// Takes it away: its links, and the names that nobody mentions any more.
void drop(situ::transaction& t, index& all, std::string_view name);

// Makes the index of a pool that has none. Until it is whole, there is none; where it was cut, it goes on, also with
// another list. Throws bad_argument where there is one.
void build(situ::pool& in, const listing& from);
// One of version 1, in one transaction: what a program made that did not have version 2 yet.
void build_version_1(situ::pool& in, const listing& from);

// How many packages an update changed.
struct update_counts {
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t removed = 0;
  std::size_t unchanged = 0;
};
// Brings the index up to a list: each package that differs in a transaction of its own, in the order of their names. So
// who reads meanwhile, and who comes after an update that was cut, finds each package as one of the lists has it; the
// same update again does what is left.
update_counts update(situ::pool& in, const listing& to);

// From version 1 to 2, in transactions of some hundred packages; goes on where one was that was cut. What was done.
std::vector<situ::pool_migrated> migrate(situ::pool& in);

// The index of a pool. Throws bad_file that says what to do where it has none, or one of version 1.
[[nodiscard]] index& index_of(const situ::pool& in);
// Which version it has: 1, 2, or 0 where there is none, or one that is being migrated.
[[nodiscard]] int version_of(const situ::pool& in);

}  // namespace package_index
