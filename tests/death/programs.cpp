#include "death/programs.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace situ::test_points {
namespace {

[[nodiscard]] place neighbour(std::uint32_t steps = 1) { return place{(here().index() + steps) % place_count()}; }

void check(bool is_right) {
  if (!is_right) std::abort();
}

void compute_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {}
}

int plus_one(int x) { return x + 1; }

// --- meetings --------------------------------------------------------------------------------------------------------

void barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    barrier();
    const future<> split = barrier_async();
    split.get();
  }
}

void collectives(int rounds) {
  const std::uint32_t n = place_count();
  for (int i = 0; i < rounds; ++i) {
    check(all_reduce(1U, std::plus<>{}) == n);
    check(broadcast(std::string(100, 'b'), static_cast<std::uint32_t>(i) % n).size() == 100);
    (void)gather(here().index(), static_cast<std::uint32_t>(i) % n);
    check(all_to_all(std::vector<std::uint32_t>(n, here().index())).size() == n);
    (void)exchange(std::vector<std::vector<int>>(n, std::vector<int>(200, i)));
  }
}

// Some are under way when others begin, and when a loss ends the code that began them.
void collectives_under_way(int rounds) {
  const std::uint32_t n = place_count();
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> values(20'000, 1.0), told(20'000, 1.0 + here().index());
    const future<> summed = all_reduce_async(std::span{values}, std::plus<>{});
    const future<> sent = broadcast_async(std::span{told}, static_cast<std::uint32_t>(i) % n);
    check(all_reduce_async(1U, std::plus<>{}).get() == n);
    check(sparse_exchange(std::vector<std::pair<std::uint32_t, int>>{{0, i}}).size() == (here().index() == 0 ? n : 0));
    sent.get();
    summed.get();
    check(values[19'999] == n && told[0] == 1 + i % static_cast<int>(n));
  }
}

// The root computes beside its gather: some parts arrive meanwhile, and whoever was to send the others dies.
void parts_beside_a_task(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    future<> busy;
    if (here().index() == 0) busy = async([] { compute_for(std::chrono::microseconds{1500}); });
    if (here().index() > 1) compute_for(std::chrono::microseconds{200});
    (void)gather(here().index(), 0);
    if (here().index() == 0) busy.get();
    barrier();
  }
}

void teams(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const team halves = world().split(here().index() % 2);
    barrier(halves);
    check(all_reduce(1U, std::plus<>{}, halves) == halves.size());
    std::vector<std::uint32_t> all;
    for (const place p : places()) all.push_back(p.index());
    barrier(world().subset(all));
  }
}

// All who live come as often, whoever dies meanwhile: by what they are told, or by the team that they get.
void agreements(int rounds) {
  team rest = world();
  for (int i = 0; i < rounds; ++i) {
    const team before = rest;
    rest = survivors();
    check(rest.size() <= before.size() && rest.member(rest.index()) == here());
    try {
      check(all_reduce(1U, std::plus<>{}, rest) == rest.size());
      (void)at(rest.member((rest.index() + 1) % rest.size()), &plus_one, i);
      barrier(rest);
    } catch (const place_lost_error&) {}
  }
  if (rest.size() != place_count()) barrier();  // of all, which throws
}

// --- calls -----------------------------------------------------------------------------------------------------------

// Round the ring: each call waits in the next.
int around(std::uint32_t hops) { return hops == 0 ? 0 : at(neighbour(), &around, hops - 1) + 1; }

void calls(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    check(at(neighbour(), &plus_one, i) == i + 1);
    check(at(neighbour(), &around, 2 * place_count()) == static_cast<int>(2 * place_count()));
  }
  barrier();
}

future<int> add_up(int i) {
  const int one = co_await async_at(neighbour(), &plus_one, i);
  const int two = co_await async_at(neighbour(2), &plus_one, one);
  co_return two;
}

void futures(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    // One that is looked at after the loss only.
    const future<int> kept = async_at(neighbour(), [] {
      compute_for(std::chrono::microseconds{20});
      return 1;
    });
    try {
      barrier();
    } catch (const place_lost_error&) {
      (void)kept.get();
      throw;
    }
    const future<int> near = async(&plus_one, i);
    const future<int> far = async_at(neighbour(), &plus_one, i).then([](int x) { return 2 * x; });
    const auto [a, b, c] = when_all(near, far, add_up(i)).get();
    check(a == i + 1 && b == 2 * a && c == i + 2);
  }
  barrier();
}

// A promise that a call from elsewhere keeps.
thread_local promise<int>* open_promise = nullptr;
void keep(int value) {
  if (open_promise != nullptr) std::exchange(open_promise, nullptr)->set_value(value);
}

void promises(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    struct opened : promise<int> {
      opened() { open_promise = this; }
      ~opened() { open_promise = nullptr; }
    } mine;
    barrier();
    async_at(neighbour(), &keep, i);
    check(mine.get_future().get() == i);
  }
}

void scopes(int rounds) {
  thread_local int counted = 0;
  for (int i = 0; i < rounds; ++i) {
    barrier();
    finish([&] {
      for (const place p : places())
        async_at(
            p,
            [](std::uint32_t home) {
              async_at(neighbour(), [](std::uint32_t back) { async_at(place{back}, [] { ++counted; }); }, home);
            },
            here().index());
      // A loss that the body takes for itself: what is outstanding may still never come.
      try {
        at(neighbour(2), [] { compute_for(std::chrono::microseconds{20}); });
        barrier();
      } catch (const place_lost_error&) {}
    });
    check(counted == (i + 1) * static_cast<int>(place_count()));
  }
  counted = 0;
}

// --- messages --------------------------------------------------------------------------------------------------------

thread_local std::uint64_t received = 0;
void take(am::token&, std::uint64_t) { ++received; }
void take_payload(am::token&, std::span<std::byte>) { ++received; }
void take_answer(am::reply_token&, std::uint64_t) { ++received; }
void answer(am::token& t, std::uint64_t x) { t.reply_short<take_answer>(x); }

void await_messages(std::uint64_t count) {
  while (received < count) progress();
  barrier();
  received = 0;
  barrier();
}

void short_messages(int rounds) {
  for (int i = 0; i < rounds; ++i) am::request_short<take>(neighbour(), i);
  await_messages(rounds);
}

void answered_messages(int rounds) {
  for (int i = 0; i < rounds; ++i) am::request_short<answer>(neighbour(), i);
  await_messages(rounds);
}

void long_messages(int rounds) {
  const std::vector<std::byte> payload(am::max_medium_bytes() / 2);
  const auto all = all_gather(allocate<std::byte>(payload.size()));
  const ptr<std::byte> there = all[neighbour().index()];
  for (int i = 0; i < rounds; ++i) {
    am::request_medium<take_payload>(neighbour(), payload);
    am::request_long<take_payload>(neighbour(), there, payload);
  }
  await_messages(2 * rounds);
  deallocate(all[here().index()]);
}

// Nothing but a loop of turns sees the loss.
void turns_of_progress(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (here().index() == static_cast<std::uint32_t>(i) % place_count()) {
      compute_for(std::chrono::microseconds{100});
      for (const place p : places()) am::request_short<take>(p, i);
    }
    while (received == 0) progress();
    --received;
  }
  barrier();
}

// Arguments and results too large for a message; memory that another place frees.
void large_arguments(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::string large(am::max_medium_bytes() + 1000, 'x');
    check(at(neighbour(), [](const std::string& text) { return text + "y"; }, large).size() == large.size() + 1);
    std::vector<ptr<int>> blocks;
    for (int b = 0; b < 50; ++b) blocks.push_back(allocate<int>(100));
    at(
        neighbour(),
        [](const std::vector<ptr<int>>& theirs) {
          for (const ptr<int> each : theirs) deallocate(each);
        },
        blocks);
  }
  barrier();
}

// Each is asleep most of the time: whoever wakes it may die before it does.
void sleepers(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (here().index() == static_cast<std::uint32_t>(i) % place_count())
      std::this_thread::sleep_for(std::chrono::microseconds{400});
    barrier();
  }
}

// --- words -----------------------------------------------------------------------------------------------------------

// Round the ring, mostly to places that sleep: nothing but the signal wakes them here.
void signals(int rounds) {
  const auto data = all_gather(allocate<std::uint64_t>());
  const auto ready = all_gather(allocate_signals());
  const std::uint32_t me = here().index();
  const std::uint32_t next = neighbour().index();
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(rounds); ++i) {
    if (me != 0) wait_until(ready[me], i);
    check(me == 0 || *data[me].local() == i);
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{200});
    put_signal(data[next], i, ready[next], i);
    if (me == 0) wait_until(ready[me], i);
  }
  barrier();
  deallocate(data[me]);
  deallocate(ready[me]);
}

// Tasks that wait for words and futures, some of them until a deadline.
void deadlines(int rounds) {
  const auto counts = all_gather(allocate_signals(2));
  const ptr<signal> mine = counts[here().index()];
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(rounds); ++i) {
    const future<> words = async([mine, i] {
      while (!wait_until(mine, [i](std::uint64_t n) { return n >= i; }, std::chrono::microseconds{300})) {}
    });
    const future<int> call = async_at(neighbour(), &plus_one, 1);
    const std::size_t first = wait_any(words, call);
    check(first < 2);
    send_signal(counts[neighbour().index()], 1, signal_by::add);
    while (!words.wait_for(std::chrono::microseconds{200})) {}
    words.get();
    check(call.get() == 2);
  }
  barrier();
  deallocate(mine);
}

// --- graphs ----------------------------------------------------------------------------------------------------------

struct link {
  std::uint64_t value;
  link* next;
};

std::uint64_t sum(const link* first) {
  std::uint64_t total = 0;
  for (; first != nullptr; first = first->next) total += first->value;
  return total;
}

// Chains go and come back. What a task that has been told of a loss frees, others must not be reading any more.
template <std::size_t count>
void send_chains(transfer how, int rounds) {
  const ptr<link> room = allocate<link>(count);
  struct release {
    ptr<link> room;
    ~release() {
      for (std::size_t i = 0; i < count; ++i) room.local()[i].value = ~std::uint64_t{0};
      deallocate(room);
    }
  } const at_end{room};
  link* const links = room.local();
  for (std::size_t i = 0; i < count; ++i) links[i] = {i, i + 1 < count ? &links[i + 1] : nullptr};
  const std::uint64_t total = count * (count - 1) / 2;
  for (int i = 0; i < rounds; ++i) {
    check(at(via(neighbour(), how), [](const link* first) { return sum(first); }, links) == total);
    const auto there_and_back = at(via(neighbour(2), how), [](link* first) { return first; }, links);
    check(sum(there_and_back.get()) == total);
  }
  barrier();
}

void chains_by_message(int rounds) { send_chains<300>(transfer::message, rounds); }
void chains_by_pull(int rounds) { send_chains<3000>(transfer::pull, rounds); }
void chains_by_offload(int rounds) { send_chains<300>(transfer::offload, rounds); }

constexpr program all_programs[] = {
    {"barriers", &barriers, 20},
    {"collectives", &collectives, 4},
    {"collectives_under_way", &collectives_under_way, 3},
    {"parts_beside_a_task", &parts_beside_a_task, 3},
    {"teams", &teams, 4},
    {"agreements", &agreements, 6},
    {"calls", &calls, 10},
    {"futures", &futures, 8},
    {"promises", &promises, 8},
    {"scopes", &scopes, 6},
    {"short_messages", &short_messages, 1000},
    {"answered_messages", &answered_messages, 1000},
    {"long_messages", &long_messages, 12},
    {"turns_of_progress", &turns_of_progress, 10},
    {"large_arguments", &large_arguments, 4},
    {"sleepers", &sleepers, 6},
    {"signals", &signals, 12},
    {"deadlines", &deadlines, 8},
    {"chains_by_message", &chains_by_message, 6},
    {"chains_by_pull", &chains_by_pull, 6},
    {"chains_by_offload", &chains_by_offload, 4},
};

}  // namespace

std::span<const program> programs() noexcept { return all_programs; }

}  // namespace situ::test_points
