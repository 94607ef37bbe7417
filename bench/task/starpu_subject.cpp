// StarPU: data are registered, tasks are inserted with handles and modes. No scheduler but its default, no performance
// models.
#include <starpu.h>

#include <cstdio>
#include <cstdlib>

#include "patterns.h"

namespace task_bench {
namespace {

void run_work(void*[], void* arguments) {
  int steps = 0;
  starpu_codelet_unpack_args(arguments, &steps);
  work(steps);
}

double* tile_of(void* buffer) { return reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffer)); }
std::size_t size_of(void* arguments) {
  std::size_t n = 0;
  starpu_codelet_unpack_args(arguments, &n);
  return n;
}
void run_factor(void* b[], void* arguments) { factor_tile(tile_of(b[0]), size_of(arguments)); }
void run_solve(void* b[], void* arguments) { solve_tile(tile_of(b[0]), tile_of(b[1]), size_of(arguments)); }
void run_update(void* b[], void* arguments) {
  update_tile(tile_of(b[0]), tile_of(b[1]), tile_of(b[2]), size_of(arguments));
}

struct codelet : starpu_codelet {
  explicit codelet(starpu_cpu_func_t run) : starpu_codelet{} {
    cpu_funcs[0] = run;
    nbuffers = STARPU_VARIABLE_NBUFFERS;
  }
};
codelet work_codelet{run_work}, factor_codelet{run_factor}, solve_codelet{run_solve}, update_codelet{run_update};

void check(int result) {
  if (result == 0) return;
  std::fprintf(stderr, "StarPU refuses: %d\n", result);
  std::exit(1);
}

// Of `count` pieces of `bytes` bytes each.
class handles {
 public:
  handles(const void* first, std::size_t count, std::size_t bytes) : handles_(count) {
    for (std::size_t i = 0; i < count; ++i)
      starpu_vector_data_register(&handles_[i], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(first) + i * bytes,
                                  static_cast<std::uint32_t>(bytes / 8), 8);
  }
  ~handles() {
    for (starpu_data_handle_t each : handles_) starpu_data_unregister(each);
  }
  handles(const handles&) = delete;
  handles& operator=(const handles&) = delete;
  starpu_data_handle_t operator[](std::size_t i) const { return handles_[i]; }

 private:
  std::vector<starpu_data_handle_t> handles_;
};

void run_pattern(pattern& p) {
  static const handles* const of_a = new handles{p.a.data(), p.a.size(), 8};
  static const handles* const of_b = new handles{p.b.data(), p.b.size(), 8};
  run_in_parts(p, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t* const read = &p.read(i);
      const bool of_first = read >= p.a.data() && read < p.a.data() + p.a.size();
      const auto source = of_first ? (*of_a)[static_cast<std::size_t>(read - p.a.data())]
                                   : (*of_b)[static_cast<std::size_t>(read - p.b.data())];
      check(starpu_task_insert(&work_codelet, STARPU_R, source, p.is_independent() ? STARPU_W : STARPU_RW,
                               (*of_b)[static_cast<std::size_t>(&p.written(i) - p.b.data())], STARPU_VALUE, &p.steps,
                               sizeof p.steps, 0));
    }
    check(starpu_task_wait_for_all());
  });
}

struct adding {
  tiled_matrix& m;
  const handles& of;

  starpu_data_handle_t tile(std::size_t r, std::size_t c) const { return of[r * m.tiles + c]; }
  void factor(std::size_t k) {
    check(starpu_task_insert(&factor_codelet, STARPU_RW, tile(k, k), STARPU_VALUE, &m.tile, sizeof m.tile, 0));
  }
  void solve(std::size_t k, std::size_t r) {
    check(starpu_task_insert(&solve_codelet, STARPU_R, tile(k, k), STARPU_RW, tile(r, k), STARPU_VALUE, &m.tile,
                             sizeof m.tile, 0));
  }
  void update(std::size_t k, std::size_t r, std::size_t c) {
    check(starpu_task_insert(&update_codelet, STARPU_R, tile(r, k), STARPU_R, tile(c, k), STARPU_RW, tile(r, c),
                             STARPU_VALUE, &m.tile, sizeof m.tile, 0));
  }
};

void run_cholesky(tiled_matrix& m) {
  const handles of{m.data.data(), m.tiles * m.tiles, m.tile * m.tile * sizeof(double)};
  adding visit{m, of};
  for_each_unit(m.tiles, visit);
  check(starpu_task_wait_for_all());
}

}  // namespace
}  // namespace task_bench

int main(int argc, char** argv) {
  ::setenv("STARPU_SILENT", "1", 0);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = task_bench::threads;
  conf.ncuda = conf.nopencl = 0;
  task_bench::check(starpu_init(&conf));
  return task_bench::main_of_subject(argc, argv, task_bench::run_pattern, task_bench::run_cholesky);
}
