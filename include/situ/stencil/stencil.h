// The stencil module in one include, without hdf5.h.
#pragma once

#include <situ/stencil/block.h>
#include <situ/stencil/context.h>
#include <situ/stencil/dataset.h>
#include <situ/stencil/par_loop.h>
#include <situ/stencil/reduction.h>
#include <situ/stencil/shape.h>
