// What a program usually needs.
#pragma once

#include <situ/base/error.h>
#include <situ/fabric/am.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/graph/at.h>
#include <situ/memory/allocate.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/async_rma.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/future.h>
#include <situ/runtime/launch.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>
#include <situ/version.h>
