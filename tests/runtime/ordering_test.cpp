// Litmus tests of the rules in docs/design/ordering.md: what is ordered with what. Each runs many rounds; what the
// rules forbid must never be seen. Named as in the literature: MP is message passing, SB store buffering, WRC
// write-to-read causality, IRIW independent reads of independent writes.
#include "support/places.h"

#include <atomic>
#include <string_view>
#include <vector>

namespace situ {
namespace {

using word_pointer = ptr<std::uint64_t>;

class ordering : public test::on_places {};

// Words of place 0, each on a line of its own, all 0 before anybody goes on.
class words {
 public:
  explicit words(std::size_t count) : all_{broadcast(here().index() == 0 ? allocate_signals(count) : nullptr, 0)} {}
  ~words() {
    barrier();
    if (here().index() == 0) deallocate(all_);
  }
  words(const words&) = delete;
  words& operator=(const words&) = delete;
  [[nodiscard]] word_pointer operator[](std::size_t i) const { return word(all_ + static_cast<std::ptrdiff_t>(i)); }

 private:
  ptr<signal> all_;
};

// Rounds that no place begins before all are there; `litmus` gets the round's number, from 1.
template <class Litmus>
void repeat(Litmus litmus) {
  const auto rounds = static_cast<std::uint64_t>(test::rounds(place_count() > 2 ? 300 : 2000));
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    barrier();
    litmus(round);
    if (testing::Test::HasFatalFailure()) return;
  }
}

constexpr std::size_t data_words = 200;  // over several lines

// How the first place tells the second that the data is there; `told` returns once it knows. Both get the round.
struct messenger {
  std::string_view name;
  void (*put_and_tell)(ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place to,
                       std::uint64_t round);
  void (*be_told)(word_pointer flag, std::uint64_t round);
};
thread_local std::uint64_t message_seen = 0;
void on_message(am::token&, std::uint64_t round) { message_seen = round; }

void await_flag(word_pointer flag, std::uint64_t round) { wait_until(flag, round); }
void await_message(word_pointer, std::uint64_t round) {
  while (message_seen != round) progress();
}

const messenger messengers[] = {
    {"put_signal",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place, std::uint64_t round) {
       put_signal(data, source, data_words, flag, round);
     },
     &await_flag},
    {"added_signal",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place, std::uint64_t) {
       put_signal(data, source, data_words, flag, 1, signal_by::add);
     },
     &await_flag},
    {"store",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place, std::uint64_t round) {
       put(data, source, data_words);
       atomic_store(flag, round);
     },
     &await_flag},
    {"polled",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place, std::uint64_t) {
       put(data, source, data_words);
       atomic_fetch_add(flag, 1);
     },
     [](word_pointer flag, std::uint64_t round) {
       while (atomic_load(flag) != round) progress();
     }},
    {"message",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer, place to, std::uint64_t round) {
       put(data, source, data_words);
       am::request_short<on_message>(to, round);
     },
     &await_message},
    {"call",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer, place to, std::uint64_t round) {
       put(data, source, data_words);
       async_at(to, [](std::uint64_t r) { message_seen = r; }, round);
     },
     &await_message},
    {"arrival",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer, place, std::uint64_t round) {
       put_async(data, source, data_words, on_arrival([](std::uint64_t r) { message_seen = r; }, round));
     },
     &await_message},
    {"batch",
     [](ptr<std::uint64_t> data, const std::uint64_t* source, word_pointer flag, place, std::uint64_t round) {
       access_batch batch;
       for (std::size_t i = 0; i < data_words; ++i) batch.put(data + static_cast<std::ptrdiff_t>(i), source[i]);
       batch.complete();
       send_signal(flag, round);
     },
     &await_flag},
};

// MP: who is told of a put sees all of it. From the last place to place 0.
TEST_P(ordering, who_is_told_sees_the_data) {
  run([] {
    const words flags{1};
    const auto data = broadcast(here().index() == 0 ? allocate<std::uint64_t>(data_words) : nullptr, 0);
    const std::uint32_t sender = place_count() - 1;
    for (const messenger& each : messengers) {
      message_seen = 0;
      barrier();
      if (here().index() == 0) atomic_store(flags[0], 0);
      repeat([&](std::uint64_t round) {
        if (here().index() == sender) {
          const std::vector<std::uint64_t> source(data_words, round);
          each.put_and_tell(data, source.data(), flags[0], place{0}, round);
        }
        if (here().index() != 0) return;
        each.be_told(flags[0], round);
        for (std::size_t i = 0; i < data_words; ++i) ASSERT_EQ(data.local()[i], round) << each.name << ", word " << i;
      });
    }
    barrier();
    if (here().index() == 0) deallocate(data);
  });
}

// A barrier tells everybody of everything.
TEST_P(ordering, after_a_barrier_everybody_sees_what_was_put) {
  run([] {
    const auto data = all_gather(allocate<std::uint64_t>());
    repeat([&](std::uint64_t round) {
      put(data[(here().index() + 1) % place_count()], round);
      barrier();
      for (const ptr<std::uint64_t> each : data) ASSERT_EQ(get(each), round);
    });
    barrier();
    deallocate(data[here().index()]);
  });
}

// WRC: what somebody has seen before telling is seen by whom he tells. 0 writes x, 1 sees it and writes y, 2 sees y.
TEST_P(ordering, goes_on_by_way_of_others) {
  run([] {
    const words flags{1};
    const ptr<std::uint64_t> data = broadcast(here().index() == 0 ? allocate<std::uint64_t>() : nullptr, 0);
    const auto told = all_gather(allocate_signals());
    const std::uint32_t n = place_count();
    repeat([&](std::uint64_t round) {  // a chain through all places
      const std::uint32_t me = here().index();
      if (me == 0) put(data, round);
      if (me != 0) wait_until(told[me], round);
      ASSERT_EQ(get(data), round);
      if (me + 1 < n) send_signal(told[me + 1], round);
    });
    barrier();
    if (here().index() == 0) deallocate(data);
    deallocate(told[here().index()]);
  });
}

// SB: two places each change one word and then look at the other's, by change_and_look(own, other, round), which
// returns what it saw. One of them sees the change.
template <class ChangeAndLook>
void expect_that_one_sees_the_other(ChangeAndLook change_and_look) {
  const words x{4};
  if (place_count() == 1) return;
  const std::uint32_t me = here().index();
  repeat([&](std::uint64_t round) {
    if (me < 2) atomic_store(x[2 + me], change_and_look(x[me], x[1 - me], round) == round ? 1 : 0);
    barrier();
    if (me == 0) {
      ASSERT_NE(atomic_load(x[2]) + atomic_load(x[3]), 0U) << "both missed the other's";
    }
  });
}

TEST_P(ordering, read_modify_writes_do_not_pass_each_other) {
  run([] {
    expect_that_one_sees_the_other([](auto own, auto other, std::uint64_t round) {
      atomic_exchange(own, round);
      return atomic_fetch_add(other, 0);
    });
  });
}

// The same with stores and loads, and a fence between.
TEST_P(ordering, a_fence_keeps_stores_before_loads) {
  if (test::with_thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer does not model fences";
  run([] {
    expect_that_one_sees_the_other([](auto own, auto other, std::uint64_t round) {
      put(own, round);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return atomic_load(other);
    });
  });
}

// IRIW: two that look at two words in opposite orders, with a fence between, do not see their changes in opposite
// orders.
TEST_P(ordering, changes_of_two_places_are_seen_in_one_order) {
  if (test::with_thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer does not model fences";
  run([] {
    const words x{4};
    if (place_count() < 4) return;
    const std::uint32_t me = here().index();
    repeat([&](std::uint64_t round) {
      if (me < 2) atomic_exchange(x[me], round);
      if (me == 2 || me == 3) {
        const std::uint64_t first = atomic_load(x[me - 2]);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint64_t second = atomic_load(x[3 - me]);
        atomic_store(x[me], first == round && second != round ? 1 : 0);  // saw the one and not yet the other
      }
      barrier();
      if (me == 0) {
        ASSERT_NE(atomic_load(x[2]) + atomic_load(x[3]), 2U) << "each saw the other change first";
      }
    });
  });
}

// Coherence: the values of one word are seen in one order, by puts as by atomics.
TEST_P(ordering, of_one_word_holds_for_everybody) {
  run([] {
    const words x{1};
    const auto last = static_cast<std::uint64_t>(test::rounds(20000));
    if (here().index() == place_count() - 1)
      for (std::uint64_t i = 1; i <= last; ++i) {
        atomic_store(x[0], i);
        if (i % 256 == 0) progress();
      }
    for (std::uint64_t seen = 0; seen != last;) {
      const std::uint64_t now = atomic_load(x[0]);
      ASSERT_GE(now, seen);
      seen = now;
      progress();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, ordering, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
