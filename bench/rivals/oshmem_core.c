/* Open MPI's OSHMEM as a rival in `situ bench core`: put, get and fetch-add on the symmetric heap, each put made
 * complete by shmem_quiet (blocking, as Situ's are), and its barrier. It has no active messages: those cases stay
 * empty. Compiled with oshcc by the bench; samples are taken as in bench/support/sampling.h. Debian's build crashes in
 * its own shmem_finalize, after the last sample: the bench takes the samples. */
#include "../support/sampling.h"

#include <shmem.h>

static long* symmetric_word;
static long* symmetric_counter;
static char* symmetric_copy;

static void put_8(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) {
    shmem_long_p(symmetric_word, (long)i, 1);
    shmem_quiet();
  }
}

static void get_8(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) bench_keep((uint64_t)shmem_long_g(symmetric_word, 1));
}

static void put_1m(struct bench_session* s, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    shmem_putmem(symmetric_copy, s->buffer, BENCH_COPY_BYTES, 1);
    shmem_quiet();
  }
}

static void get_1m(struct bench_session* s, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) shmem_getmem(s->buffer, symmetric_copy, BENCH_COPY_BYTES, 1);
}

static void fetch_add(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) bench_keep((uint64_t)shmem_long_atomic_fetch_add(symmetric_counter, 1, 1));
}

static void barrier(void) { shmem_barrier_all(); }

static void barriers(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) barrier();
}

/* Some ways to carry one-sided access need the target to come by now and then. */
static void poll_library(void) { shmem_quiet(); }

static const struct bench_case cases_of_two[] = {
    {"put_8", BENCH_RAW_STORE, put_8, NULL},       {"get_8", BENCH_RAW_LOAD, get_8, NULL},
    {"put_1m", BENCH_RAW_COPY_IN, put_1m, NULL},   {"get_1m", BENCH_RAW_COPY_OUT, get_1m, NULL},
    {"fetch_add", BENCH_RAW_ADD, fetch_add, NULL}, {"barrier_2", BENCH_RAW_PING_PONG, barriers, barriers},
};
static const struct bench_case cases_of_8[] = {{"barrier_8", BENCH_RAW_PING_PONG, barriers, barriers}};
static const struct bench_case cases_of_64[] = {{"barrier_64", BENCH_RAW_PING_PONG, barriers, barriers}};

int main(void) {
  shmem_init();
  const int ranks = shmem_n_pes();
  symmetric_word = (long*)shmem_align(128, 128);
  symmetric_counter = (long*)shmem_align(128, 128);
  symmetric_copy = (char*)shmem_align(4096, BENCH_COPY_BYTES);
  if (symmetric_word == NULL || symmetric_counter == NULL || symmetric_copy == NULL) return 2;
  *symmetric_counter = 0;
  shmem_barrier_all();

  struct bench_session session = {
      .subject = "oshmem",
      .rank = (uint32_t)shmem_my_pe(),
      .ranks = (uint32_t)ranks,
      .cases = ranks == 2   ? cases_of_two
               : ranks == 8 ? cases_of_8
                            : cases_of_64,
      .case_count = ranks == 2 ? sizeof cases_of_two / sizeof cases_of_two[0] : 1,
      .poll = poll_library,
      .barrier = barrier,
  };
  bench_take_samples(&session);
  shmem_finalize();
  return 0;
}
