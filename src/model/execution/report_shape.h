// The shape of a report's machine, the figures of its file that are assumed, and the breakdown of its caches' times.
#pragma once

#include <string>

#include "model/execution/engine.h"

namespace situ::model {

// {"columns", "rows": of its mesh, 0 without a mesh, "nodes": [{"name", "x", "y", "cores", "caches", "memories"}]}: the
// nodes are tiles, and memories on the mesh without a tile.
[[nodiscard]] std::string shape_json(engine& ran);
// A line that names the figures of the machine that its file marks as assumed, with their ranges; empty without such
// figures.
[[nodiscard]] std::string assumed_text(engine& ran);
// [{"figure", "value", "low", "high", "others", "source"}], an entry per assumed figure; low and high are null for a
// word, others for a number.
[[nodiscard]] std::string assumed_json(engine& ran);
// [{"part", "two_parameters_ps", "five_parameters_ps", and the five parameters}], an entry per cache that was accessed.
[[nodiscard]] std::string camat_json(engine& ran);

}  // namespace situ::model
