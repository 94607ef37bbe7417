// The case of situ_bench_waiting that has a file of its own.
#pragma once

#include "support/job_samples.h"

namespace everyday {

using namespace job_bench;

void measure_flags();

}  // namespace everyday
