// Situ as a subject of `situ bench core`, through its public interface alone. Samples are taken as in
// bench/support/sampling.h; the command starts it with `situ run -n N`.
#include "../support/sampling.h"

#include <situ/situ.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <vector>

namespace {

// What place 1 offers to place 0. Each word has its own pair of lines.
struct offered {
  situ::ptr<std::uint64_t> word;
  situ::ptr<std::uint64_t> counter;
  situ::ptr<char> copy;
};

offered target;
constexpr situ::place peer{1};

void put_8(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    situ::put(target.word, i);
    bench_compiler_barrier();
  }
}

void get_8(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) bench_keep(situ::get(target.word));
}

void put_1m(bench_session* s, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    situ::put(target.copy, s->buffer, BENCH_COPY_BYTES);
    bench_compiler_barrier();
  }
}

void get_1m(bench_session* s, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    situ::get(s->buffer, target.copy, BENCH_COPY_BYTES);
    bench_compiler_barrier();
  }
}

void fetch_add(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) bench_keep(situ::atomic_fetch_add(target.counter, std::uint64_t{1}));
}

// ---- active messages ----

std::uint64_t answers = 0;   // at place 0
std::uint64_t arrivals = 0;  // at place 1

void on_answer(situ::am::reply_token&, std::uint64_t) { ++answers; }
void on_question(situ::am::token& token, std::uint64_t value) { token.reply_short<on_answer>(value); }

void ask(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t before = answers;
    situ::am::request_short<on_question>(peer, i);
    while (answers == before) situ::progress();
  }
}

// The last message of a stream is answered, so the time is that of all handlers having run.
void on_streamed(situ::am::token& token, std::uint64_t last) {
  if (++arrivals != last) return;
  arrivals = 0;
  token.reply_short<on_answer>(last);
}

void stream(bench_session*, std::uint64_t n) {
  const std::uint64_t before = answers;
  for (std::uint64_t i = 0; i < n; ++i) situ::am::request_short<on_streamed>(peer, n);
  while (answers == before) situ::progress();
}

// ---- at ----

void at_empty(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) situ::at(peer, [] {});
}

void at_doubles(bench_session*, std::uint64_t n) {
  static const std::vector<double> values(BENCH_DOUBLES, 1.5);
  for (std::uint64_t i = 0; i < n; ++i)
    bench_keep(static_cast<std::uint64_t>(
        situ::at(peer, [](situ::payload<double> received) { return received.back(); }, situ::payload{values})));
}

// The second place waits where a program's would, rather than asking for progress in a loop.
void at_beside_load(bench_session* s, std::uint64_t n) {
  at_empty(s, n);
  situ::barrier();
}
void wait_for_calls(bench_session*, std::uint64_t) { situ::barrier(); }

// ---- barriers ----

void barrier() { situ::barrier(); }

void barriers(bench_session*, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) barrier();
}

constexpr bench_case cases_of_two[] = {
    {"put_8", BENCH_RAW_STORE, put_8, nullptr},
    {"get_8", BENCH_RAW_LOAD, get_8, nullptr},
    {"put_1m", BENCH_RAW_COPY_IN, put_1m, nullptr},
    {"get_1m", BENCH_RAW_COPY_OUT, get_1m, nullptr},
    {"fetch_add", BENCH_RAW_ADD, fetch_add, nullptr},
    {"am_short_rt", BENCH_RAW_PING_PONG, ask, nullptr},
    {"am_short_oneway", BENCH_RAW_PING_PONG, stream, nullptr},
    {"at_empty_rt", BENCH_RAW_PING_PONG, at_empty, nullptr},
    {"at_1000_doubles", BENCH_RAW_PING_PONG, at_doubles, nullptr},
    {"barrier_2", BENCH_RAW_PING_PONG, barriers, barriers},
    {"at_beside_load", BENCH_RAW_FUTEX, at_beside_load, wait_for_calls},
};
constexpr bench_case cases_of_8[] = {{"barrier_8", BENCH_RAW_PING_PONG, barriers, barriers}};
constexpr bench_case cases_of_64[] = {{"barrier_64", BENCH_RAW_PING_PONG, barriers, barriers}};

offered offer() {
  offered mine{situ::allocate<std::uint64_t>(16, {.alignment = 128}),
               situ::allocate<std::uint64_t>(16, {.alignment = 128}),
               situ::allocate<char>(BENCH_COPY_BYTES, {.alignment = 4096})};
  *mine.word.local() = 0;
  *mine.counter.local() = 0;
  std::memset(mine.copy.local(), 1, BENCH_COPY_BYTES);
  return mine;
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint32_t ranks = situ::place_count();
  if (ranks != 2 && ranks != 8 && ranks != 64) {
    std::fprintf(stderr, "situ_bench_situ: 2, 8 or 64 places (started by `situ bench core`)\n");
    return 2;
  }
  if (ranks == 2) target = situ::broadcast(situ::here() == peer ? offer() : offered{}, peer.index());

  bench_session session{};
  session.subject = "situ";
  session.rank = situ::here().index();
  session.ranks = ranks;
  session.cases = ranks == 2 ? cases_of_two : ranks == 8 ? cases_of_8 : cases_of_64;
  session.case_count = ranks == 2 ? std::size(cases_of_two) : 1;
  session.poll = situ::progress;
  session.barrier = barrier;
  situ::barrier();
  bench_take_samples(&session);

  situ::barrier();
  if (ranks == 2 && situ::here() == peer) {
    situ::deallocate(target.word);
    situ::deallocate(target.counter);
    situ::deallocate(target.copy);
  }
}
