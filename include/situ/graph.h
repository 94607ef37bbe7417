// Object graphs: all that a pointer leads to, copied, kept, and sent to other places by `at`. situ.h has calls whose
// arguments are values; with this header arguments and results may be graphs, too.
#pragma once

#include <situ/graph/at.h>
#include <situ/graph/clone.h>
#include <situ/graph/containers.h>
#include <situ/graph/describe.h>
#include <situ/graph/object.h>
#include <situ/graph/transfer.h>
