// The layout of datasets in memory: their strides, and pages of their own.
#pragma once

#include "pages/page_source.h"

#include <situ/stencil/context.h>

#include <cstddef>

namespace situ::stencil {

// Sets strides, bytes and valid of a dataset that has its name, dims, element size and block. file_layers: cuts it into
// layers of whole pages, as direct I/O needs; the size of an element must then divide a page. Throws bad_argument.
void lay_out(dataset_core& data, const dataset_layout& layout, bool file_layers);

using situ::detail::page_source;
using situ::detail::sourced_pages;

}  // namespace situ::stencil
