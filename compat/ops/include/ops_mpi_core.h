// For programs that can run as several processes. Here there is one.
#pragma once

#include "ops_lib_core.h"
