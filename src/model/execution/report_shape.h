// The shape of a report's machine, and the breakdown of its caches' times, as JSON.
#pragma once

#include <string>

#include "model/execution/engine.h"

namespace situ::model {

// {"columns", "rows": of its mesh, 0 without a mesh, "nodes": [{"name", "x", "y", "cores", "caches", "memories"}]}: the
// nodes are tiles, and memories on the mesh without a tile.
[[nodiscard]] std::string shape_json(engine& ran);
// [{"part", "two_parameters_ps", "five_parameters_ps", and the five parameters}], an entry per cache that was accessed.
[[nodiscard]] std::string camat_json(engine& ran);

}  // namespace situ::model
