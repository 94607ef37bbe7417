/* What a subject program of `situ bench core` stands on: a clock, pinning, and the page that its ranks share.
 *
 * Usable from C and C++, because the rivals are C programs that mpicc and oshcc compile. The atomics are the compiler's
 * __atomic builtins for the same reason. Every function is static: a subject is one translation unit.
 *
 * The driver makes the page anew for each run of a subject, as an unnamed file whose path (/proc/<pid>/fd/<n>) stands
 * in SITU_BENCH_PAGE; so every subject, whoever launches its ranks, is timed against the same raw shared memory and by
 * the same commands, and nothing is left behind. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  BENCH_MAX_RANKS = 64,
  BENCH_COPY_BYTES = 1 << 20,
  BENCH_DOUBLES = 1000,
  BENCH_RING_SLOTS = 256,
  /* The page is one region for words and one that the raw copies use. */
  BENCH_PAGE_BYTES = 2 * BENCH_COPY_BYTES,
};

/* Words that different ranks write lie 128 bytes apart: the processor fetches lines in pairs. */
struct bench_page {
  /* A command: rank 0 writes what is wanted, then counts `go` up. Rank 1 polls `go`; the others sleep on `go_rest`. */
  alignas(128) uint32_t go;
  uint32_t command;
  uint32_t case_index;
  uint64_t operations;
  alignas(128) uint32_t go_rest;
  alignas(128) uint32_t over;     /* the number of the last command that rank 0 has finished */
  alignas(128) uint32_t finished; /* how many other ranks have finished the current command */

  alignas(128) uint32_t ball; /* of the ping-pong: odd when sent, even when returned */
  alignas(128) uint64_t word; /* target of the raw stores, loads and adds: nobody else touches it meanwhile */

  /* For the raw subject's own cases. */
  alignas(128) uint32_t there; /* a ping-pong over two lines, each written by one rank */
  alignas(128) uint32_t back;
  alignas(128) uint32_t lines;     /* 2 * the number of races so far, + 1 where two lines have won the last one */
  alignas(128) uint32_t asleep[2]; /* of the ping-pong by futex: what each of ranks 0 and 1 is woken by */
  alignas(128) uint32_t flag[2][32];
  alignas(128) uint32_t arrived;
  alignas(128) uint32_t epoch;
  alignas(128) uint32_t produced;
  alignas(128) uint32_t consumed;
  alignas(128) struct bench_slot {
    alignas(64) uint32_t payload[16];
  } ring[BENCH_RING_SLOTS];

  struct {
    uint64_t cpu_ns; /* that the rank used while it was idle */
    uint64_t wall_ns;
    uint64_t pss_bytes; /* private memory and its share of the shared */
  } idle[BENCH_MAX_RANKS];
};

static inline uint64_t bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The compiler may keep no memory in registers across this, nor drop what was stored before it. */
static inline void bench_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* The value counts as used. */
static inline void bench_keep(uint64_t value) { __asm__ volatile("" ::"r"(value) : "memory"); }

static inline uint32_t bench_load(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static inline void bench_store(uint32_t* word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

static inline void bench_futex_wait(uint32_t* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT, expected, NULL, NULL, 0);
}
static inline void bench_futex_wake(uint32_t* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

/* Pins the calling thread to the n-th (modulo how many there are) of the first two processors of this machine. */
static inline void bench_pin(uint32_t n) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(n % 2, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    fprintf(stderr, "bench: cannot pin to processor %u: two processors, 0 and 1, are needed\n", n % 2);
    exit(2);
  }
}

/* Lets the calling thread run on both, where the kernel likes. */
static inline void bench_unpin(void) {
  cpu_set_t both;
  CPU_ZERO(&both);
  CPU_SET(0, &both);
  CPU_SET(1, &both);
  if (sched_setaffinity(0, sizeof both, &both) != 0) exit(2);
}

/* CPU time of the process so far. */
static inline uint64_t bench_cpu_ns(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
         ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
}

/* Memory of the process: what is its own, and its share of what it shares. 0 where the kernel does not say. */
static inline uint64_t bench_pss_bytes(void) {
  char line[256];
  unsigned long long kib = 0;
  FILE* f = fopen("/proc/self/smaps_rollup", "r");
  if (f == NULL) return 0;
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "Pss: %llu kB", &kib) == 1) break;
  fclose(f);
  return (uint64_t)kib * 1024u;
}

/* Maps the page that the driver made; exits with a word where there is none. */
static inline struct bench_page* bench_map_page(void) {
  const char* path = getenv("SITU_BENCH_PAGE");
  const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  void* page = fd < 0 ? MAP_FAILED : mmap(NULL, BENCH_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (page == MAP_FAILED) {
    fprintf(stderr, "bench: this program is started by `situ bench core`\n");
    exit(2);
  }
  return (struct bench_page*)page;
}
