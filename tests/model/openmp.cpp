// Small OpenMP programs, by name: openmp_test.cpp runs each as it is and on modelled cores, and compares what they
// print. Their results do not depend on which thread does what.
#include <omp.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr long count = 6000;
long numbers[count];

void fill() {
  for (long i = 0; i < count; ++i) numbers[i] = i * 7919 % 1009;
}

// A parallel loop, a reduction over it, with each schedule.
void loops() {
  long sum = 0, least = 1 << 30;
#pragma omp parallel for
  for (long i = 0; i < count; ++i) numbers[i] += i % 3;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 16)
  for (long i = 0; i < count; ++i) sum += numbers[i];
#pragma omp parallel for reduction(min : least) schedule(guided)
  for (long i = 0; i < count; ++i) least = numbers[i] + i < least ? numbers[i] + i : least;
  std::printf("%ld %ld\n", sum, least);
}

// Critical sections with a name and without, atomics, a lock, and a nested lock.
void exclusion() {
  long a = 0, b = 0, c = 0, d = 0, e = 0;
  omp_lock_t lock;
  omp_nest_lock_t nested;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested);
#pragma omp parallel for schedule(dynamic)
  for (long i = 0; i < 400; ++i) {
#pragma omp critical
    a += numbers[i];
#pragma omp critical(named)
    b += i;
#pragma omp atomic
    c += i;
    omp_set_lock(&lock);
    d += i;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    e += i;
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
  }
  omp_destroy_nest_lock(&nested);
  omp_destroy_lock(&lock);
  std::printf("%ld %ld %ld %ld %ld\n", a, b, c, d, e);
}

// Rounds of a stencil, with a barrier between them, single, master and sections.
void barriers() {
  static long other[count];
  long rounds = 0, first = 0, second = 0;
#pragma omp parallel
  {
    for (int round = 0; round < 6; ++round) {
      const long* from = round % 2 ? other : numbers;
      long* to = round % 2 ? numbers : other;
      const int threads = omp_get_num_threads(), self = omp_get_thread_num();
      for (long i = count * static_cast<long>(self) / threads; i < count * (self + 1L) / threads; ++i)
        to[i] = (from[(i + count - 1) % count] + from[i] + from[(i + 1) % count]) % 10007;
#pragma omp barrier
#pragma omp single
      ++rounds;
    }
#pragma omp sections
    {
#pragma omp section
      for (long i = 0; i < count / 2; ++i) first += numbers[i];
#pragma omp section
      for (long i = count / 2; i < count; ++i) second += numbers[i];
    }
  }
  std::printf("%ld %ld %ld\n", rounds, first, second);
}

long fibonacci(int n) {
  if (n < 2) return n;
  if (n < 8) return fibonacci(n - 1) + fibonacci(n - 2);
  long a, b;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

// Tasks within tasks, tasks that depend on each other, a loop of tasks.
void tasks() {
  long result = 0, chain = 1, sum = 0;
#pragma omp parallel
#pragma omp single
  {
    result = fibonacci(15);
    for (int i = 0; i < 8; ++i) {
#pragma omp task depend(inout : chain)
      chain = chain * 3 + i;
    }
#pragma omp taskloop grainsize(100)
    for (long i = 0; i < count; ++i) {
#pragma omp atomic
      sum += numbers[i];
    }
  }
  std::printf("%ld %ld %ld\n", result, chain, sum);
}

// A wavefront: each iteration waits for the one before (libgomp spins for this); and an ordered loop.
void wavefront() {
  long last = 0, ordered = 0;
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (long i = 1; i < 60; ++i) {
#pragma omp ordered depend(sink : i - 1)
    numbers[i] = (numbers[i - 1] * 5 + i) % 997;
#pragma omp ordered depend(source)
  }
  last = numbers[59];
#pragma omp parallel for ordered schedule(dynamic)
  for (long i = 0; i < 60; ++i) {
#pragma omp ordered
    ordered = ordered * 3 % 10007 + i;
  }
  std::printf("%ld %ld\n", last, ordered);
}

// A team within each thread of a team.
void nested() {
  long sum = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    long inner = 0;
#pragma omp parallel for num_threads(2) reduction(+ : inner)
    for (long i = 0; i < count / 2; ++i) inner += numbers[i + count / 2 * omp_get_ancestor_thread_num(1)];
    sum += inner;
  }
  std::printf("%ld\n", sum);
}

// What the program sees of the machine.
void machine() {
  int in_team = 0;
#pragma omp parallel
#pragma omp single
  in_team = omp_get_num_threads();
  std::printf("%d %d %d %d\n", omp_get_num_procs(), omp_get_max_threads(), in_team, omp_get_num_places());
}

// 1,600 critical sections far shorter than a quantum, with `outside` additions before each.
void short_sections(long outside) {
  long sum = 0;
  long others = 0;
#pragma omp parallel for schedule(static) reduction(+ : others)
  for (long i = 0; i < 1600; ++i) {
    for (long k = 0; k < outside; ++k) others += numbers[k];
#pragma omp critical
    for (long k = 0; k < 20; ++k) sum += numbers[k];
  }
  std::printf("%ld %ld\n", sum, others);
}
void serialized() { short_sections(0); }
void half_serialized() { short_sections(20); }

// A thread of the program's own has a team, and ends before the program does; one ends by pthread_exit.
void threads() {
  long sum = 0;
  std::thread other{[&] {
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < count; ++i) sum += numbers[i];
  }};
  other.join();
  struct noticed {
    long* at;
    ~noticed() { *at += 1; }
  };
  pthread_t leaves{};
  pthread_create(
      &leaves, nullptr,
      [](void* at) -> void* {
        const noticed scope{static_cast<long*>(at)};
        pthread_exit(at);
      },
      &sum);
  void* result = nullptr;
  pthread_join(leaves, &result);
  std::printf("%ld %d\n", sum, result == &sum ? 1 : 0);
}

// Work that divides among threads evenly: its time falls with their number.
void speedup() {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < 200000; ++i) sum += 1.0 / static_cast<double>(i + 1);
  std::printf("%.9f\n", sum);
}

}  // namespace

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*body)();
  } programs[] = {{"loops", loops},           {"exclusion", exclusion},
                  {"barriers", barriers},     {"tasks", tasks},
                  {"wavefront", wavefront},   {"nested", nested},
                  {"machine", machine},       {"speedup", speedup},
                  {"serialized", serialized}, {"half_serialized", half_serialized},
                  {"threads", threads}};
  fill();
  for (const auto& each : programs)
    if (argc == 2 && std::strcmp(argv[1], each.name) == 0) {
      each.body();
      return 0;
    }
  std::fprintf(stderr, "usage: openmp PROGRAM\n");
  return 2;
}
