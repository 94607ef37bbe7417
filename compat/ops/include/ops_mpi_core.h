// What programs with several processes include. Here there is one.
#pragma once

#include "ops_lib_core.h"
