// The offload agent where things go wrong: a reader dies, a graph cannot be measured, a call is not taken, a caller
// leaves at once. Its 16 entries come back each time. Runs a second time with SITU_OFFLOAD_STAGED=1.
#include "support/places.h"

#include <situ/base/log.h>
#include <situ/graph.h>

#include <unistd.h>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "graph/change_gate.h"
#include "graph/graph_state.h"

namespace situ {
namespace {

struct item {
  item* next;
  std::uint64_t value;
};
struct shape : derived<shape> {
  std::uint64_t id = 0;
  SITU_DESCRIBE_DERIVED(shape, (situ::object), id)
};

constexpr int entries = static_cast<int>(detail::offload_queue::entry_count);
constexpr std::uint32_t victim = 1;

item* make_items(std::size_t n) {
  item* const items = allocate<item>(n).local();
  for (std::size_t i = 0; i < n; ++i) items[i] = {i + 1 < n ? &items[i + 1] : nullptr, i};
  return items;
}
std::uint64_t sum(const item* head) {
  std::uint64_t total = 0;
  for (; head != nullptr; head = head->next) total += head->value;
  return total;
}
route offload_to(std::uint32_t p) { return via(place{p}, transfer::offload); }

// As many at once as there are entries, and more.
void expect_all_entries(std::uint32_t p) {
  item* const head = make_items(100);
  std::vector<future<std::uint64_t>> sums;
  for (int i = 0; i < 2 * entries; ++i) sums.push_back(async_at(offload_to(p), [](item* l) { return sum(l); }, head));
  for (auto& each : sums) EXPECT_EQ(each.get(), 4950U);
}

class offload : public test::on_places {};

TEST_P(offload, is_staged_if_asked) {
  run([] {
    const char* const asked = std::getenv("SITU_OFFLOAD_STAGED");
    EXPECT_EQ(detail::agent_here().is_staged(), asked != nullptr && std::string_view{asked} == "1");
    barrier();
  });
}

// Who gives an entry back names it; the owner looks there only when it has none left, and is woken only if it waits.
TEST_P(offload, entries_that_are_given_back_are_named_until_none_is_left) {
  run([] {
    if (here().index() == 0 && place_count() > 1) {
      const std::atomic<std::uint32_t>& named = detail::current->job->slot(0).graph.words().freed_entries;
      item* const head = make_items(3);
      for (int call = 0; call < 2 * entries + 1; ++call) {
        EXPECT_EQ(at(offload_to(1), [](item* l) { return sum(l); }, head), 3U);
        EXPECT_EQ(std::popcount(named.load()), call % entries + 1);
        EXPECT_EQ(named.load() & detail::offload_queue::is_awaited, 0U);
      }
    }
    barrier();
  });
}

TEST_P(offload, a_graph_that_cannot_be_measured_is_an_error_at_the_caller) {
  run([] {
    std::uint64_t bytes[2] = {0x0bad'7a60'0bad'7a60, 1};
    auto* const never_made = reinterpret_cast<shape*>(bytes);
    const std::uint32_t next = (here().index() + 1) % place_count();
    std::vector<future<std::uint64_t>> ids;
    for (int i = 0; i < 2 * entries; ++i)
      ids.push_back(async_at(offload_to(next), [](shape* s) { return s->id; }, never_made));
    for (auto& each : ids) {
      const test::caught_error caught = test::error_of([&] { (void)each.get(); });
      EXPECT_EQ(caught.code, errc::bad_argument);
      EXPECT_TRUE(caught.says("names no type that derives from it")) << caught.text;
    }
    if (next != here().index()) {  // a call to its own place copies
      EXPECT_EQ(test::error_of([&] { (void)at(offload_to(next), [](shape* s) { return s->id; }, never_made); }).code,
                errc::bad_argument);
    }
    expect_all_entries(next);
    barrier();
  });
}

// An argument that fails to be read behind a graph.
struct unreadable {
  std::uint8_t byte;
};

}  // namespace
template <>
struct wire<unreadable> {
  static std::size_t size(const unreadable&) noexcept { return 1; }
  static void write(wire_writer& writer, const unreadable& value) noexcept { writer.write(&value.byte, 1); }
  static unreadable read(wire_reader&) { throw_error(errc::bad_message, "it does not decode, as it should"); }
};
template <>
inline constexpr bool is_data<unreadable> = true;
namespace {

TEST_P(offload, calls_that_do_not_decode_give_their_entries_back) {
  run([] {
    item* const head = make_items(100);
    const std::uint32_t next = (here().index() + 1) % place_count();
    for (int round = 0; round < 3; ++round) {
      std::vector<future<std::uint64_t>> sums;
      for (int i = 0; i < entries; ++i)
        sums.push_back(async_at(offload_to(next), [](item* l, unreadable) { return sum(l); }, head, unreadable{1}));
      for (auto& each : sums)
        EXPECT_TRUE(test::error_of([&] { (void)each.get(); }).says("it does not decode, as it should"));
    }
    expect_all_entries(next);
    barrier();
  });
}

// The body ends with main: nothing meets the other places after the result has come.
TEST_P(offload, callers_may_leave_with_their_results) {
  for (int round = 0; round < test::rounds(30); ++round) {
    run([] {
      if (here().index() != 0) return;
      item one{nullptr, 1};
      for (std::uint32_t p = 0; p < place_count(); ++p)
        EXPECT_EQ(at(offload_to(p), [](item* l) { return l; }, &one)->value, 1U);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(layouts, offload, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

// --- with a loss -----------------------------------------------------------------------------------------------------

void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

struct died : std::runtime_error {
  died() : std::runtime_error{"died as it should"} {}
};

// The wait in which a place learns of the loss ends by it. Till then it takes calls in, or nothing.
void learn_of_loss(bool serves = false) {
  bool is_known = false;
  while (!is_known) {
    is_known = detail::current->job->failure_epoch.load() != 0;
    if (!is_known) sleep_ms(1);
    if (!is_known && !serves) continue;
    try {
      progress();
    } catch (const place_lost_error&) {}
  }
}

// Of three places, place 1 dies after `before_death`, while the others run `body`. Where that takes a word, it adds one
// to it, and `before_death` begins then.
class offload_loss : public test::on_places {
 protected:
  template <class Before, class Body>
  void lose(Before before_death, Body body) {
    const log_sink before = set_log_sink([](log_level, std::string_view) {});
    const bool processes = GetParam().mode == launch_mode::processes;
    const launch_result result = test::launch_on(GetParam(), [&] {
      constexpr bool says_when = std::is_invocable_v<Body, ptr<int>>;
      ptr<int> serve_no_more;  // how many places: in the broadcast each still serves calls
      if (here().index() == victim) serve_no_more = ptr<int>{new (allocate<int>().local()) int{0}};
      serve_no_more = broadcast(serve_no_more, victim);
      atomic_fetch_add(serve_no_more, 1);
      if (here().index() == victim) {
        while (atomic_load(serve_no_more) < (says_when ? 4 : 3)) sleep_ms(1);
        before_death();
        if (processes) ::kill(::getpid(), SIGKILL);
        throw died{};
      }
      while (atomic_load(serve_no_more) < 3) sleep_ms(1);
      if constexpr (says_when) {
        body(serve_no_more);
      } else {
        body();
      }
    });
    set_log_sink(before);
    ASSERT_TRUE(result.first_lost);
    for (const std::uint32_t p : {0U, 2U}) {
      EXPECT_EQ(result.places[p].exit_code, 0) << "place " << p << ": " << result.places[p].reason;
      EXPECT_TRUE(result.places[p].reason.empty()) << "place " << p << ": " << result.places[p].reason;
    }
  }
  static void meet_without_victim() {
    learn_of_loss();
    const std::uint32_t others[] = {0, 2};
    const team survivors = world().subset(others);
    barrier(survivors);
  }
  static void use_all_entries() {
    meet_without_victim();
    if (here().index() == 0) {
      for (int round = 0; round < 3; ++round) expect_all_entries(2);
    }
    meet_without_victim();
  }
};
// It has been sent 16 graphs, and more wait for room; it reads none.
TEST_P(offload_loss, of_a_reader_gives_its_entries_back) {
  lose([] { sleep_ms(100); },
       [] {
         if (here().index() == 0) {
           item* const head = make_items(100);
           std::vector<future<std::uint64_t>> sums;
           for (int i = 0; i < entries + 4; ++i)
             sums.push_back(async_at(offload_to(victim), [](item* l) { return sum(l); }, head));
           for (auto& each : sums) EXPECT_THROW(each.get(), place_lost_error);
         }
         use_all_entries();
       });
}

// The same of graphs that were handed over: they are given back with the calls.
TEST_P(offload_loss, of_a_reader_gives_what_was_handed_over_back) {
  for (const transfer how : {transfer::pull, transfer::offload}) {
    lose([] { sleep_ms(100); },
         [how] {
           if (here().index() == 0) {
             item* const head = make_items(100);
             (void)at(via(place{2}, how), [](item* l) { return sum(l); }, head);
             const std::uint64_t blocks = memory_statistics().live_blocks;
             std::vector<future<std::uint64_t>> sums;
             for (int i = 0; i < entries; ++i)
               sums.push_back(async_at(via(place{victim}, how), [](item* l) { return sum(l); }, clone(head)));
             EXPECT_GE(memory_statistics().live_blocks, blocks + entries);
             for (auto& each : sums) EXPECT_THROW(each.get(), place_lost_error);
             EXPECT_LE(memory_statistics().live_blocks, blocks);
           } else {
             learn_of_loss(true);
           }
           meet_without_victim();
         });
  }
}

// It has called for graphs, which are offered, and takes none.
TEST_P(offload_loss, of_a_caller_gives_the_entries_of_its_results_back) {
  lose(
      [] {
        std::vector<future<owned<item>>> lists;
        for (int i = 0; i < entries; ++i) lists.push_back(async_at(offload_to(0), [] { return make_items(100); }));
        for (const place p : {place{0}, place{2}}) async_at(p, [] {});
        sleep_ms(100);
      },
      [] {
        learn_of_loss(true);
        use_all_entries();
      });
}

// Place 2 reads the call only after the loss: the graph may be gone by then, so the agent refuses.
TEST_P(offload_loss, between_measuring_and_copying_ends_the_copy) {
  lose([] { sleep_ms(100); },  // in which place 0 has its graph measured, and sends the call
       [](ptr<int> ready) {
         if (here().index() == 0) {
           auto call = async_at(offload_to(2), [](item* l) { return sum(l); }, make_items(100));
           atomic_fetch_add(ready, 1);
           EXPECT_THROW(call.get(), place_lost_error);
         } else {
           learn_of_loss();
         }
         use_all_entries();
       });
}

INSTANTIATE_TEST_SUITE_P(layouts, offload_loss, testing::ValuesIn(test::layouts({3})), test::layout_name);

}  // namespace
}  // namespace situ
