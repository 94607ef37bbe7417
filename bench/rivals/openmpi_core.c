/* Open MPI as a rival in `situ bench core`: one-sided access in a passive epoch over a window that all ranks allocate,
 * each operation flushed (blocking, as Situ's are); messages by send and receive where Situ has active messages and
 * `at`. Compiled with mpicc by the bench; samples are taken as in bench/support/sampling.h. */
#include "../support/sampling.h"

#include <mpi.h>

static MPI_Win window;
enum { counter_offset = 64, copy_offset = 4096, window_bytes = copy_offset + BENCH_COPY_BYTES, in_flight = 64 };

static void put_8(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) {
    MPI_Put(&i, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}

static void get_8(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t value;
    MPI_Get(&value, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    bench_keep(value);
  }
}

static void put_1m(struct bench_session* s, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    MPI_Put(s->buffer, BENCH_COPY_BYTES, MPI_BYTE, 1, copy_offset, BENCH_COPY_BYTES, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}

static void get_1m(struct bench_session* s, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    MPI_Get(s->buffer, BENCH_COPY_BYTES, MPI_BYTE, 1, copy_offset, BENCH_COPY_BYTES, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}

static void fetch_add(struct bench_session* s, uint64_t n) {
  (void)s;
  const uint64_t one = 1;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t before;
    MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, counter_offset, MPI_SUM, window);
    MPI_Win_flush(1, window);
    bench_keep(before);
  }
}

/* A request of so many bytes and an answer of so many, n times. */
static void ask(struct bench_session* s, uint64_t n, int request_bytes, int answer_bytes) {
  for (uint64_t i = 0; i < n; ++i) {
    MPI_Send(s->buffer, request_bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(s->buffer, answer_bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void answer(struct bench_session* s, uint64_t n, int request_bytes, int answer_bytes) {
  for (uint64_t i = 0; i < n; ++i) {
    MPI_Recv(s->buffer, request_bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(s->buffer, answer_bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}

static void ask_8(struct bench_session* s, uint64_t n) { ask(s, n, 8, 8); }
static void answer_8(struct bench_session* s, uint64_t n) { answer(s, n, 8, 8); }
static void ask_empty(struct bench_session* s, uint64_t n) { ask(s, n, 0, 0); }
static void answer_empty(struct bench_session* s, uint64_t n) { answer(s, n, 0, 0); }
static void ask_doubles(struct bench_session* s, uint64_t n) { ask(s, n, BENCH_DOUBLES * 8, 8); }
static void answer_doubles(struct bench_session* s, uint64_t n) { answer(s, n, BENCH_DOUBLES * 8, 8); }

/* One way: eager sends, received into posted buffers, so many in flight; one message back at the end. */
static void send_stream(struct bench_session* s, uint64_t n) {
  MPI_Request requests[in_flight];
  for (uint64_t sent = 0; sent < n;) {
    int batch = 0;
    for (; batch < in_flight && sent < n; ++batch, ++sent)
      MPI_Isend(s->buffer, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[batch]);
    MPI_Waitall(batch, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Recv(s->buffer, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_stream(struct bench_session* s, uint64_t n) {
  MPI_Request requests[in_flight];
  for (uint64_t received = 0; received < n;) {
    int batch = 0;
    for (; batch < in_flight && received < n; ++batch, ++received)
      MPI_Irecv(s->buffer + 8 * batch, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[batch]);
    MPI_Waitall(batch, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Send(s->buffer, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void barriers(struct bench_session* s, uint64_t n) {
  (void)s;
  for (uint64_t i = 0; i < n; ++i) barrier();
}

/* Some ways to carry one-sided access need the target to come by now and then. */
static void poll_library(void) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static const struct bench_case cases_of_two[] = {
    {"put_8", BENCH_RAW_STORE, put_8, NULL},
    {"get_8", BENCH_RAW_LOAD, get_8, NULL},
    {"put_1m", BENCH_RAW_COPY_IN, put_1m, NULL},
    {"get_1m", BENCH_RAW_COPY_OUT, get_1m, NULL},
    {"fetch_add", BENCH_RAW_ADD, fetch_add, NULL},
    {"am_short_rt", BENCH_RAW_PING_PONG, ask_8, answer_8},
    {"am_short_oneway", BENCH_RAW_PING_PONG, send_stream, receive_stream},
    {"at_empty_rt", BENCH_RAW_PING_PONG, ask_empty, answer_empty},
    {"at_1000_doubles", BENCH_RAW_PING_PONG, ask_doubles, answer_doubles},
    {"barrier_2", BENCH_RAW_PING_PONG, barriers, barriers},
};
static const struct bench_case cases_of_8[] = {{"barrier_8", BENCH_RAW_PING_PONG, barriers, barriers}};
static const struct bench_case cases_of_64[] = {{"barrier_64", BENCH_RAW_PING_PONG, barriers, barriers}};

int main(int argc, char** argv) {
  int rank, ranks;
  void* base;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(ranks == 2 ? window_bytes : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  memset(base, 0, ranks == 2 ? window_bytes : 64);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Barrier(MPI_COMM_WORLD);

  struct bench_session session = {
      .subject = "openmpi",
      .rank = (uint32_t)rank,
      .ranks = (uint32_t)ranks,
      .cases = ranks == 2   ? cases_of_two
               : ranks == 8 ? cases_of_8
                            : cases_of_64,
      .case_count = ranks == 2 ? sizeof cases_of_two / sizeof cases_of_two[0] : 1,
      .poll = poll_library,
      .barrier = barrier,
  };
  bench_take_samples(&session);

  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
