// Includes the headers that a program usually needs. The others are included one by one: object graphs by
// <situ/graph.h>, pools by <situ/pool/pool.h>, the distributed types by <situ/spread/...>, tasks with declared
// accesses by <situ/task/...>, place trees by <situ/trees/...>, stencils by <situ/stencil/stencil.h>, descriptions of
// machines by <situ/machine/...>.
#pragma once

#include <situ/base/error.h>
#include <situ/fabric/am.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/shared_span.h>
#include <situ/fabric/signal.h>
#include <situ/memory/allocate.h>
#include <situ/memory/allocator.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/async_rma.h>
#include <situ/runtime/at.h>
#include <situ/runtime/cancel.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/collective_spans.h>
#include <situ/runtime/completion.h>
#include <situ/runtime/future.h>
#include <situ/runtime/launch.h>
#include <situ/runtime/place_threads.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/serve.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>
#include <situ/runtime/wait.h>
#include <situ/version.h>
