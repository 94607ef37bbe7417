// The case `slow_memory` of `situ bench tasks`.
#pragma once

namespace task_bench {

void measure_slow_memory();

}  // namespace task_bench
