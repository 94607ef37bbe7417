// The stencil module: includes all public headers of situ::stencil.
#pragma once

#include <situ/stencil/block.h>
#include <situ/stencil/context.h>
#include <situ/stencil/dataset.h>
#include <situ/stencil/par_loop.h>
#include <situ/stencil/reduction.h>
#include <situ/stencil/shape.h>
