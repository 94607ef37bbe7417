// The raw limit: what each case of `situ bench core` costs on shared memory with nothing in between, two processes of
// one fork, hand-written for the case. `raw_core N` runs N ranks; see bench/support/sampling.h for how samples are
// taken.
#include "../support/sampling.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace {

void put_8(bench_session* s, std::uint64_t n) { bench_raw_operations(s, BENCH_RAW_STORE, n); }
void get_8(bench_session* s, std::uint64_t n) { bench_raw_operations(s, BENCH_RAW_LOAD, n); }
void put_1m(bench_session* s, std::uint64_t n) { bench_raw_operations(s, BENCH_RAW_COPY_IN, n); }
void get_1m(bench_session* s, std::uint64_t n) { bench_raw_operations(s, BENCH_RAW_COPY_OUT, n); }
void fetch_add(bench_session* s, std::uint64_t n) { bench_raw_operations(s, BENCH_RAW_ADD, n); }

// A round trip over one line, which both ranks write, or over two, each written by one. Which is quicker depends on the
// machine and on where the ranks run, so the two race before each batch: in the operation that is not timed.
void send_over_one(bench_session* s, std::uint64_t n) {
  std::uint32_t* ball = &s->page->ball;
  std::uint32_t value = bench_load(ball);
  for (std::uint64_t i = 0; i < n; ++i) {
    bench_store(ball, value + 1);
    value += 2;
    while (bench_load(ball) != value) {}
  }
}

void return_over_one(bench_session* s, std::uint64_t n) {
  std::uint32_t* ball = &s->page->ball;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint32_t value;
    while (((value = bench_load(ball)) & 1u) == 0) {}
    bench_store(ball, value + 1);
  }
}

std::uint32_t sent_over_two = 0;
void send_over_two(bench_session* s, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    bench_store(&s->page->there, ++sent_over_two);
    while (bench_load(&s->page->back) != sent_over_two) {}
  }
}

void return_over_two(bench_session* s, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    ++sent_over_two;
    while (bench_load(&s->page->there) != sent_over_two) {}
    bench_store(&s->page->back, sent_over_two);
  }
}

constexpr std::uint64_t balls_of_race = 64;
std::uint32_t races = 0;
bool has_two_lines = false;

void race_as_first(bench_session* s) {
  const std::uint64_t begin = bench_now_ns();
  send_over_one(s, balls_of_race);
  const std::uint64_t middle = bench_now_ns();
  send_over_two(s, balls_of_race);
  has_two_lines = bench_now_ns() - middle < middle - begin;
  bench_store(&s->page->lines, 2 * ++races + (has_two_lines ? 1 : 0));
}

void race_as_second(bench_session* s) {
  return_over_one(s, balls_of_race);
  return_over_two(s, balls_of_race);
  ++races;
  while (bench_load(&s->page->lines) / 2 != races) {}
  has_two_lines = bench_load(&s->page->lines) % 2 != 0;
}

void send_ball(bench_session* s) {
  if (has_two_lines)
    send_over_two(s, 1);
  else
    send_over_one(s, 1);
}

void send_balls(bench_session* s, std::uint64_t n) {
  if (n == 1) race_as_first(s);
  if (has_two_lines)
    send_over_two(s, n);
  else
    send_over_one(s, n);
}

void return_balls(bench_session* s, std::uint64_t n) {
  if (n == 1) race_as_second(s);
  if (has_two_lines)
    return_over_two(s, n);
  else
    return_over_one(s, n);
}

// A ring of lines, one message in each. Each side says every 16 messages, and at the end, how far it is: a receiver
// that polled the lines themselves would take each away from the sender while it is being written, and so now and then
// fall into step with it at a round trip a message.
constexpr std::uint32_t stride = 16;

void send_stream(bench_session* s, std::uint64_t n) {
  static std::uint32_t sent = 0;
  bench_page* page = s->page;
  for (std::uint64_t i = 0; i < n; ++i) {
    while (sent - bench_load(&page->consumed) >= BENCH_RING_SLOTS) {}
    page->ring[sent % BENCH_RING_SLOTS].payload[0] = sent;
    if (++sent % stride == 0) bench_store(&page->produced, sent);
  }
  bench_store(&page->produced, sent);
  while (bench_load(&page->consumed) != sent) {}
}

void receive_stream(bench_session* s, std::uint64_t n) {
  static std::uint32_t received = 0;
  bench_page* page = s->page;
  for (const std::uint32_t end = received + static_cast<std::uint32_t>(n); received != end;) {
    const std::uint32_t produced = bench_load(&page->produced);
    while (received != produced) {
      bench_keep(page->ring[received % BENCH_RING_SLOTS].payload[0]);
      if (++received % stride == 0) bench_store(&page->consumed, received);
    }
  }
  bench_store(&page->consumed, received);
}

void read_last(bench_session* s) {
  double last;
  std::memcpy(&last, s->copy_region + (BENCH_DOUBLES - 1) * sizeof(double), sizeof last);
  bench_keep(static_cast<std::uint64_t>(last));
}

// The doubles go into shared memory, where the receiver reads the last; then the ball comes back.
void send_doubles(bench_session* s, std::uint64_t n) {
  if (n == 1) race_as_first(s);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::memcpy(s->copy_region, s->buffer, BENCH_DOUBLES * sizeof(double));
    send_ball(s);
  }
}

void await_ball(bench_session* s) {
  if (has_two_lines) {
    ++sent_over_two;
    while (bench_load(&s->page->there) != sent_over_two) {}
  } else {
    while ((bench_load(&s->page->ball) & 1u) == 0) {}
  }
}

void return_ball(bench_session* s) {
  if (has_two_lines)
    bench_store(&s->page->back, sent_over_two);
  else
    bench_store(&s->page->ball, s->page->ball + 1);
}

void receive_doubles(bench_session* s, std::uint64_t n) {
  if (n == 1) race_as_second(s);
  for (std::uint64_t i = 0; i < n; ++i) {
    await_ball(s);
    read_last(s);
    return_ball(s);
  }
}

// Two ranks on two processors: each raises its flag and polls the other's.
void barrier_of_two(bench_session* s) {
  static std::uint32_t round = 0;
  ++round;
  bench_store(&s->page->flag[s->rank][0], round);
  while (static_cast<std::int32_t>(bench_load(&s->page->flag[1 - s->rank][0]) - round) < 0) {}
}

// More ranks than processors: count in, and give way until the last one has come. Cheaper than sleeping on a futex and
// waking all (8 and 64 ranks), and the raw limit is the cheapest way there is; that it leaves no processor idle is its
// price.
void barrier_of_many(bench_session* s) {
  bench_page* page = s->page;
  const std::uint32_t epoch = bench_load(&page->epoch);
  if (__atomic_add_fetch(&page->arrived, 1, __ATOMIC_ACQ_REL) == s->ranks) {
    bench_store(&page->arrived, 0);
    bench_store(&page->epoch, epoch + 1);
    return;
  }
  while (bench_load(&page->epoch) == epoch) sched_yield();
}

bench_session session;

void barrier() {
  if (session.ranks == 2)
    barrier_of_two(&session);
  else
    barrier_of_many(&session);
}

void barriers(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) barrier();
}

// What one context switch costs: two ranks on one processor hand a word to and fro and give way in between, so each
// operation (one hand-over) is one switch and nothing else: less than a sleep and a wake, so the stricter unit.
void switch_to(bench_session* s, std::uint64_t n, std::uint32_t mine) {
  std::uint32_t* word = &s->page->flag[0][16];
  for (std::uint64_t i = mine; i < n + n % 2; i += 2) {
    while (bench_load(word) != mine) sched_yield();
    bench_store(word, 1 - mine);
  }
  while (mine == 0 && bench_load(word) != 0) sched_yield();
}

void switch_as_first(bench_session* s, std::uint64_t n) { switch_to(s, n, 0); }

void switch_as_second(bench_session* s, std::uint64_t n) {
  bench_pin(0);
  switch_to(s, n, 1);
  bench_pin(1);
}

constexpr bench_case cases_of_two[] = {
    {"put_8", BENCH_RAW_STORE, put_8, nullptr},
    {"get_8", BENCH_RAW_LOAD, get_8, nullptr},
    {"put_1m", BENCH_RAW_COPY_IN, put_1m, nullptr},
    {"get_1m", BENCH_RAW_COPY_OUT, get_1m, nullptr},
    {"fetch_add", BENCH_RAW_ADD, fetch_add, nullptr},
    {"am_short_rt", BENCH_RAW_PING_PONG, send_balls, return_balls},
    {"am_short_oneway", BENCH_RAW_PING_PONG, send_stream, receive_stream},
    {"at_empty_rt", BENCH_RAW_PING_PONG, send_balls, return_balls},
    {"at_1000_doubles", BENCH_RAW_PING_PONG, send_doubles, receive_doubles},
    {"barrier_2", BENCH_RAW_PING_PONG, barriers, barriers},
    {"context_switch", BENCH_RAW_PING_PONG, switch_as_first, switch_as_second},
    {"at_beside_load", BENCH_RAW_FUTEX, bench_futex_rounds, bench_futex_rounds},
};
constexpr bench_case cases_of_8[] = {{"barrier_8", BENCH_RAW_PING_PONG, barriers, barriers}};
constexpr bench_case cases_of_64[] = {{"barrier_64", BENCH_RAW_PING_PONG, barriers, barriers}};

// Starts the other ranks; they die with this one. Returns the calling process's rank.
std::uint32_t fork_ranks(std::uint32_t ranks) {
  const pid_t parent = getpid();
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      std::perror("raw_core: fork");
      std::exit(2);
    }
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(2);
    return rank;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 2);
  if (ranks != 2 && ranks != 8 && ranks != 64) {
    std::fprintf(stderr, "usage: %s 2|8|64 (started by `situ bench core`)\n", argv[0]);
    return 2;
  }
  session.subject = "raw";
  session.ranks = ranks;
  session.cases = ranks == 2 ? cases_of_two : ranks == 8 ? cases_of_8 : cases_of_64;
  session.case_count = ranks == 2 ? std::size(cases_of_two) : 1;
  session.barrier = barrier;
  session.rank = fork_ranks(ranks);
  bench_take_samples(&session);
  while (session.rank == 0 && wait(nullptr) > 0) {}
}
