// Object graphs: the objects that can be reached from a pointer, copied, kept, and sent to other places by `at`. Calls
// of situ.h take and return values; with this header their arguments and results may also be graphs.
#pragma once

#include <situ/graph/at.h>
#include <situ/graph/clone.h>
#include <situ/graph/containers.h>
#include <situ/graph/describe.h>
#include <situ/graph/object.h>
#include <situ/graph/transfer.h>
