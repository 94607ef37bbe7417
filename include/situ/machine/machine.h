// The machine module in one include.
#pragma once

#include <situ/machine/discover.h>
#include <situ/machine/draw.h>
#include <situ/machine/intent.h>
#include <situ/machine/measure.h>
#include <situ/machine/ordering.h>
#include <situ/machine/orderings.h>
#include <situ/machine/processor_set.h>
#include <situ/machine/toml.h>
#include <situ/machine/tree.h>
#include <situ/machine/view.h>
