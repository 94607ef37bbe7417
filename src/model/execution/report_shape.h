// What the machine of a report looks like, and how its caches' times came about, as JSON.
#pragma once

#include <string>

#include "model/execution/engine.h"

namespace situ::model {

// {"columns", "rows": of its mesh, 0 where there is none, "nodes": [{"name", "x", "y", "cores", "caches",
// "memories"}]}: tiles, and memories that stand on the mesh without one.
[[nodiscard]] std::string shape_json(engine& ran);
// [{"part", "two_parameters_ps", "five_parameters_ps", and the five parameters}], a cache that was asked each.
[[nodiscard]] std::string camat_json(engine& ran);

}  // namespace situ::model
