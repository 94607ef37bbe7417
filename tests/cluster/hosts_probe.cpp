// A program of a job over several hosts, as a launcher starts it: hosts_probe WHAT. Says what it found, or fails. "all"
// is "once" twice, for launchers under which a second runtime meets the others again.
//
// What it tests needs no messages (tests/hosts/bodies.cpp has them): each place allocates the same blocks in the same
// order, so that they lie at the same place of each slice.
#include <situ/situ.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "memory/job.h"

namespace {

using namespace situ;

constexpr std::size_t bytes_of_block = std::size_t{3} << 20;

void must(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error{fmt::format("place {}: {}", here().index(), what)};
}

template <class T>
ptr<T> at_place(ptr<T> own, std::uint32_t place) {
  const auto slice = static_cast<std::ptrdiff_t>(detail::current->slice_mask + 1);
  const auto away = static_cast<std::ptrdiff_t>(place) - static_cast<std::ptrdiff_t>(here().index());
  return ptr<T>{reinterpret_cast<T*>(own.address() + static_cast<std::uintptr_t>(away * slice))};
}

std::vector<std::byte> pattern_of(std::uint32_t place, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 7 + i / 251 + place * 31) & 0xff);
  return made;
}

// Each place writes to, and reads from, all others.
void moves_bytes() {
  const std::uint32_t self = here().index();
  const ptr<std::byte> own = allocate<std::byte>(place_count() * bytes_of_block);
  barrier();
  for (std::uint32_t place = 0; place < place_count(); ++place) {
    const std::vector<std::byte> sent = pattern_of(self * 16 + place, bytes_of_block - self);
    put(at_place(own, place) + static_cast<std::ptrdiff_t>(self * bytes_of_block), sent.data(), sent.size());
  }
  barrier();
  for (std::uint32_t place = 0; place < place_count(); ++place) {
    const std::vector<std::byte> sent = pattern_of(place * 16 + self, bytes_of_block - place);
    must(std::equal(sent.begin(), sent.end(), own.local() + place * bytes_of_block), "what was put is not here");
    std::vector<std::byte> got(bytes_of_block - self);
    get(got.data(), at_place(own, place) + static_cast<std::ptrdiff_t>(self * bytes_of_block), got.size());
    must(got == pattern_of(self * 16 + place, got.size()), "what was put does not come back");
  }
  barrier();
  deallocate(own);
}

void moves_boxes() {
  const std::uint32_t self = here().index();
  const std::uint32_t next = (self + place_count() / 2) % place_count();  // of the other host
  constexpr std::size_t rows = 100, columns = 90, width = 128;
  const ptr<int> own = allocate<int>(rows * width);
  std::fill(own.local(), own.local() + rows * width, -1);
  barrier();
  std::vector<int> sent(rows * columns);
  std::iota(sent.begin(), sent.end(), static_cast<int>(self) * 100'000);
  const std::array<std::ptrdiff_t, 2> there{width, 1}, here_strides{columns, 1};
  put_strided<int, 2>(at_place(own, next), there, sent.data(), here_strides, {rows, columns});
  barrier();
  const int first = static_cast<int>((self + place_count() - place_count() / 2) % place_count()) * 100'000;
  for (std::size_t i = 0; i < rows * width; ++i) {
    const std::size_t row = i / width, column = i % width;
    must(own.local()[i] == (column < columns ? first + static_cast<int>(row * columns + column) : -1),
         "a box is not here");
  }
  std::vector<int> got(rows * columns);
  get_strided<int, 2>(got.data(), here_strides, at_place(own, next), there, {rows, columns});
  must(got == sent, "a box does not come back");
  barrier();
  deallocate(own);
}

void changes_words() {
  constexpr long times = 200;
  const ptr<long> own = allocate<long>(4);
  std::fill(own.local(), own.local() + 4, 0L);
  barrier();
  const ptr<long> counter = at_place(own, 0);
  for (long i = 0; i < times; ++i) atomic_fetch_add(counter, 1L);
  for (long i = 0; i < times;) {
    const long found = atomic_load(counter + 1);
    if (atomic_compare_exchange(counter + 1, found, found + 1) == found) ++i;
  }
  barrier();
  must(atomic_load(counter) == times * place_count(), "additions are missing");
  must(atomic_load(counter + 1) == times * place_count(), "exchanges are missing");
  barrier();
  deallocate(own);
}

// Each place tells the one at the other host; both sleep until they are told. pre: an even number of places.
void signals_wake() {
  const std::uint32_t self = here().index();
  const std::uint32_t other = (self + place_count() / 2) % place_count();
  const ptr<situ::signal> own = allocate_signals();
  const ptr<long> data = allocate<long>();
  barrier();
  for (long round = 1; round <= 50; ++round) {
    if (self < place_count() / 2)
      put_signal(at_place(data, other), round * 3, at_place(own, other), static_cast<std::uint64_t>(round));
    wait_until(own, static_cast<std::uint64_t>(round));
    must(*data.local() == round * 3, "the data is not here with its signal");
    if (self >= place_count() / 2)
      put_signal(at_place(data, other), round * 3, at_place(own, other), static_cast<std::uint64_t>(round));
  }
  barrier();
  deallocate(data);
  deallocate(own);
}

void barriers_hold() {
  const ptr<long> own = allocate<long>();
  *own.local() = 0;
  barrier();
  for (long round = 1; round <= 200; ++round) {
    put(own, round);
    barrier();
    for (std::uint32_t place = 0; place < place_count(); ++place) {
      const long found = get(at_place(own, place));
      must(found == round, fmt::format("in round {} place {} is in {}", round, place, found));
    }
    barrier();
  }
  deallocate(own);
}

// A block of another host is given back.
void gives_back() {
  const std::uint32_t other = (here().index() + place_count() / 2) % place_count();
  const std::uint64_t before = memory_statistics().live_blocks;
  const ptr<long> own = allocate<long>(100);
  barrier();
  deallocate(at_place(own, other));
  barrier();
  while (memory_statistics().live_blocks != before) progress();
  barrier();
}

// Places of one host talk as ever.
void talks_within_the_host() {
  std::vector<std::uint32_t> mates;
  for (std::uint32_t place = 0; place < place_count(); ++place)
    if (detail::current->job->is_here(place)) mates.push_back(place);
  const team host = world().subset(mates);
  std::uint32_t sum = 0;
  for (const std::uint32_t mate : mates) {
    sum += mate;
    must(at(
             place{mate}, [](std::uint32_t asker) { return asker + here().index(); }, here().index()) ==
             here().index() + mate,
         "an answer of a place of this host");
  }
  must(all_reduce(here().index(), std::plus<>{}, host) == sum, "a sum over this host");
  for (int i = 0; i < 100; ++i) barrier(host);
  std::vector<int> many(100'000, static_cast<int>(here().index()));
  finish([&] {
    for (const std::uint32_t mate : mates)
      async_at(place{mate}, [](const std::vector<int>& v) { must(v.size() == 100'000, "a parcel"); }, many);
  });
  barrier();
}

void refuses() {
  const place other{(here().index() + place_count() / 2) % place_count()};
  const auto says = [](auto call) {
    try {
      call();
    } catch (const error& e) {
      return fmt::format("{}: {}", name(e.code()), e.message());
    }
    return std::string{"nothing"};
  };
  const std::string address =
      says([&] { put(at_place(ptr<int>{reinterpret_cast<int*>(detail::current->base)}, other.index()), 1); });
  barrier();
  if (here().index() != 0) return;
  std::printf("address: %s\n", address.c_str());
}

void faults() {
  const ptr<long> own = allocate<long>();
  barrier();
  if (here().index() == 0) *at_place(own, place_count() - 1).local() = 1;
  barrier();
}

// Place 3 ends, by `how`; the others say what they hear. It is `outlived` where it is killed and place 0 stays for
// longer than servers bid farewell.
void one_ends(std::string_view how) {
  const ptr<long> own = allocate<long>(2);
  const ptr<long> come = own + 1;
  *come.local() = 0;
  if (here().index() == 3) put(own, 3L);  // counted: a place that comes last to the barrier does not wait there
  barrier();
  if (here().index() == 3) {
    ::usleep(300'000);  // until the others are out of that one
    if (how == "killed") ::raise(SIGKILL);
    std::exit(0);  // in order for mpirun and srun, which would end the others else
  }
  std::string heard = "nothing";
  try {
    barrier();
  } catch (const place_lost_error& e) {
    heard = fmt::format("place {} is lost", e.place_index());
  }
  std::string put_there = "nothing";
  try {
    put(at_place(own, 2), 4L);
    atomic_fetch_add(at_place(come, 2), 1L);
    put_there = "it is there";
  } catch (const error& e) {
    put_there = e.what();
  }
  std::printf("%s", fmt::format("place {} hears: {}; put: {}\n", here().index(), heard, put_there).c_str());
  // Who is asked stays until all have asked: ten seconds at most.
  for (int turn = 0; here().index() == 2 && atomic_load(come) < 3 && turn < 10'000; ++turn) ::usleep(1000);
  if (here().index() == 0 && how == "outlived") ::usleep(2'000'000);
}

// Place 2 ends its host's server. A barrier that all hosts have come to by then still holds.
void server_ends() {
  barrier();
  if (here().index() == 2) {
    ::usleep(300'000);
    ::kill(detail::current->job->slot(place_count()).pid.load(), SIGKILL);
  }
  try {
    for (;;) barrier();
  } catch (const place_lost_error& e) {
    std::printf("%s", fmt::format("place {} hears: {}\n", here().index(), e.what()).c_str());
  }
}

void calls_all() {
  for (std::uint32_t target = 0; target < place_count(); ++target)
    must(at(place{target}, [] { return here().index(); }) == target, "an answer");
  barrier();
}

// Messages of different lengths from each place to each of the other hosts, in turns, and as many answers: a trace that
// takes one for another has ends of different lengths.
std::uint32_t answers_come = 0;
void take_answer(am::reply_token&, std::span<std::byte>, std::uint32_t) { ++answers_come; }
void take_message(am::token& t, std::span<std::byte> payload, std::uint32_t number) {
  t.reply_medium<take_answer>(payload.first(payload.size() / 2), number);
}
constexpr std::uint32_t messages_of_a_pair = 20;

void sends_messages() {
  const std::vector<std::byte> bytes(4096);
  std::uint32_t sent = 0;
  barrier();
  for (std::uint32_t i = 0; i < messages_of_a_pair; ++i)
    for (std::uint32_t target = 0; target < place_count(); ++target) {
      if (detail::current->job->is_here(target)) continue;
      const std::size_t length = 200 + 16 * ((here().index() + 1) * messages_of_a_pair + i);
      am::request_medium<take_message>(place{target}, std::span{bytes}.first(length), i);
      ++sent;
    }
  while (answers_come < sent) progress();
  barrier();
}

// Place 0 never comes.
void stands() {
  if (here().index() != 0) barrier();
  for (;;) ::pause();
}

void run(std::string_view what, std::string_view how) {
  if (what == "bytes") return moves_bytes();
  if (what == "boxes") return moves_boxes();
  if (what == "words") return changes_words();
  if (what == "signals") return signals_wake();
  if (what == "barriers") return barriers_hold();
  if (what == "blocks") return gives_back();
  if (what == "within") return talks_within_the_host();
  if (what == "refusals") return refuses();
  if (what == "fault") return faults();
  if (what == "end") return one_ends(how);
  if (what == "calls") return calls_all();
  if (what == "messages") return sends_messages();
  if (what == "server") return server_ends();
  if (what == "stand") return stands();
  if (what == "all" || what == "once") {
    for (const auto each :
         {moves_bytes, moves_boxes, changes_words, signals_wake, barriers_hold, gives_back, talks_within_the_host})
      each();
    return;
  }
  throw std::runtime_error{"there is no such test"};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int turn = 0; turn < 2; ++turn) {  // runtimes follow each other
      const std::string_view what = argc > 1 ? argv[1] : "all";
      runtime rt{argc, argv};
      run(what, argc > 2 ? argv[2] : "");
      if (here().index() == 0)
        std::printf("%s\n",
                    fmt::format("{} places, {} here: done", place_count(), detail::current->job->places_here).c_str());
      if (what != "all") break;
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "hosts_probe: %s\n", e.what());
    return 1;
  }
}
