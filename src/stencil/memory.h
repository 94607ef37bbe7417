// Where datasets lie: their strides, and pages of their own.
#pragma once

#include "base/pages.h"

#include <situ/stencil/context.h>

#include <cstddef>

namespace situ::stencil {

// Sets strides, bytes and valid of a dataset that has its name, dims, element size and block. file_layers: cuts it into
// layers of whole pages, as direct I/O needs; the size of an element must then divide a page. Throws bad_argument.
void lay_out(dataset_core& data, const dataset_layout& layout, bool file_layers);

// So many bytes in pages of their own, zero and not touched yet. Throws out_of_memory.
using situ::detail::pages;
[[nodiscard]] pages map_pages(std::size_t bytes);

}  // namespace situ::stencil
