// A device's free rows for people: the largest rectangle, and a map as text.
#pragma once

#include <situ/pim/geometry.h>

#include <string>

#include "pim/row_map.h"

namespace situ::pim::detail {

// Returns the largest rectangle of free rows, of those as large the first by its last row; no rows if none is free. It
// lies within a bank unless it may lie across banks. cost: a look at each granule.
[[nodiscard]] block largest_free(const row_map& map, bool is_across_banks);

// Returns a headline and lines of a character for each granule, or for several granules of one bank.
[[nodiscard]] std::string draw(const row_map& map);

}  // namespace situ::pim::detail
