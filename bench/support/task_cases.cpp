// What `situ bench tasks` measures, and what Situ aims at. The programs that take the samples are in bench/task.
#include "job_bench.h"

namespace situ::bench {

const job_bench& task_bench() {
  using aim = comparison_aim;
  const auto subjects = [](aim own) {
    return std::vector<comparison_subject>{{"openmp", "itself: gcc's runtime, depend"},
                                           {"openmp_llvm", "openmp"},
                                           {"tbb", "openmp"},
                                           {"starpu", "openmp"},
                                           {"situ", "openmp", own}};
  };
  const std::vector<comparison_subject> of_cholesky{{"bound", "itself: one after the other, halved"},
                                                    {"openmp", "the best of the others"},
                                                    {"openmp_llvm", "the best of the others"},
                                                    {"tbb", "the best of the others"},
                                                    {"starpu", "the best of the others"},
                                                    {"situ", "the best of the others", aim{1.0}}};
  static const job_bench made{
      .name = "tasks",
      .title = "Declared accesses",
      .words =
          "Units of 1 us that declare two regions each, two threads: what is not work, a unit (two times the wall time "
          "less the "
          "work; where one unit runs at a time, the wall time less the work). The Cholesky: wall time a unit, the same "
          "kernels. "
          "Each subject is a process of its own.",
      .help = "Work units that declare their accesses, beside OpenMP, oneTBB and StarPU",
      .cases = {{"independent", "1e6 units: unit i reads a[i] and writes b[i]", "unit", 0, subjects({300, false})},
                {"short_graphs",
                 "likewise, 2000 graphs of 64 units, each made, run and ended",
                 "unit",
                 0,
                 {{"openmp", "itself: gcc's runtime, depend"},
                  {"openmp_llvm", "openmp"},
                  {"tbb", "openmp"},
                  {"starpu", "openmp"},
                  {"situ", "openmp"}}},
                {"chained", "1e5 units, each after the one before", "unit", 0, subjects({500, false})},
                {"wavefront", "1e5 units, rows of 64: after the one before in the row, and the row before", "unit", 0,
                 subjects({500, false})},
                {"cholesky_64", "tiled Cholesky, 4096, tiles of 64", "unit", 0, of_cholesky},
                {"cholesky_32", "tiled Cholesky, 4096, tiles of 32", "unit", 0, of_cholesky},
                {"slow_memory",
                 "512 MiB in a file that is not in the page cache, units of 1 MiB",
                 "1 MiB",
                 0,
                 {{"bound", "itself: the longer of the next two"},
                  {"file", "bound"},
                  {"all_in_memory", "bound"},
                  {"in_place", "bound"},
                  {"situ", "bound"}}}},
      // Each run has a limit of its own.
      .programs = {{.name = "situ_bench_tasks",
                    .cases = {"independent", "short_graphs", "chained", "wavefront"},
                    .places = 1},
                   {.name = "situ_bench_tasks", .cases = {"cholesky_64"}, .places = 1},
                   {.name = "situ_bench_tasks", .cases = {"cholesky_32"}, .places = 1},
                   {.name = "situ_bench_tasks", .cases = {"slow_memory"}, .places = 1}},
      .subjects = {"openmp", "openmp_llvm", "tbb", "starpu", "bound", "file", "all_in_memory", "in_place", "situ"}};
  return made;
}

}  // namespace situ::bench
