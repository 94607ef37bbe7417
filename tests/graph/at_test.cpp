// Calls that carry graphs, by each transfer, between processes and threads.
#include "graph/random_graph.h"
#include "support/places.h"

#include <situ/graph.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace situ {
namespace {

using test::node;

struct list {
  list* next;
  list* previous;
  std::uint64_t value;
};

// In the place's segment, so that it may be pulled. Never given back: the segment goes with the job.
list* make_list(std::size_t n) {
  list* const nodes = allocate<list>(n).local();
  for (std::size_t i = 0; i < n; ++i)
    nodes[i] = {i + 1 < n ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : nullptr, i};
  return nodes;
}
std::uint64_t sum(const list* head) {
  std::uint64_t total = 0;
  const list* before = nullptr;
  for (; head != nullptr; before = head, head = head->next) {
    if (head->previous != before) return 0;
    total += head->value;
  }
  return total;
}

struct layout_and_transfer {
  test::layout where;
  transfer how;
};
void PrintTo(const layout_and_transfer& way, std::ostream* out) {
  *out << test::text_of(way.where) << ", transfer " << static_cast<int>(way.how);
}
std::string name_of(const testing::TestParamInfo<layout_and_transfer>& info) {
  const char* const names[] = {"automatic", "message", "pull", "offload"};
  return test::text_of(info.param.where) + "_" + names[static_cast<int>(info.param.how)];
}
std::vector<layout_and_transfer> all_ways() {
  std::vector<layout_and_transfer> ways;
  for (const test::layout& where : test::all_layouts())
    for (const transfer how : {transfer::automatic, transfer::message, transfer::pull, transfer::offload})
      ways.push_back({where, how});
  return ways;
}
class graph_calls : public testing::TestWithParam<layout_and_transfer> {
 protected:
  template <class Body>
  void run(Body body, launch_options options = {}) {
    const transfer how = GetParam().how;
    const launch_result result = test::launch_on(
        GetParam().where,
        [&] {
          set_default_transfer(how);
          body();
        },
        options);
    EXPECT_TRUE(result.ok()) << result.message();
  }
};
place neighbour() { return place{(here().index() + 1) % place_count()}; }

TEST_P(graph_calls, carry_a_list_and_return_a_number) {
  run([] {
    for (const std::size_t n : {1U, 10U, 1000U, test::or_modelled(20000U, 2000U)}) {
      list* const head = make_list(n);
      EXPECT_EQ(at(neighbour(), [](const list* l) { return sum(l); }, head), n * (n - 1) / 2);
    }
    barrier();
  });
}

TEST_P(graph_calls, change_the_copy_only) {
  run([] {
    list* const head = make_list(5);
    const owned<list> answer = at(
        neighbour(),
        [](list* l) {
          for (list* each = l; each != nullptr; each = each->next) each->value += 100;
          return l;
        },
        head);
    EXPECT_EQ(sum(head), 10U);
    EXPECT_EQ(sum(answer.get()), 510U);
    EXPECT_TRUE(ptr<list>{answer.get()}.is_here());
    barrier();
  });
}

TEST_P(graph_calls, carry_null_and_data_beside_graphs) {
  run([] {
    list* const nothing = nullptr;
    EXPECT_EQ(at(
                  neighbour(),
                  [](int a, list* l, const std::string& text, const std::vector<double>& v) {
                    return l == nullptr ? a + static_cast<int>(text.size() + v.size()) : -1;
                  },
                  7, nothing, std::string{"four"}, std::vector<double>{1, 2}),
              13);
    EXPECT_FALSE(at(neighbour(), [](list* l) { return l; }, nothing));
    barrier();
  });
}

TEST_P(graph_calls, share_what_their_arguments_share) {
  run([] {
    list* const head = make_list(10);
    EXPECT_TRUE(at(
        neighbour(), [](list* a, list* b) { return a->next->next == b && b->previous->previous == a; }, head,
        head->next->next));
    barrier();
  });
}

// Values lie in memory of their process alone: such graphs are messages, whatever was asked for. Of a derived class
// only the objects tell that it has some.
struct label : derived<label, test::shape> {
  std::string text;
  std::map<std::string, std::vector<int>> table;
  std::shared_ptr<int> count;
  SITU_DESCRIBE_DERIVED(label, (test::shape), text, table, count)
};
struct labels {
  label* first = nullptr;
  std::vector<std::string> names;
};
template <class T>
T* make_in_segment() {
  return new (allocate_bytes(sizeof(T)).local()) T;
}
std::string text_of(const test::shape* first) {
  const auto* const one = cast<const label>(first);
  const auto* const two = one == nullptr ? nullptr : cast<const label>(one->neighbour);
  if (two == nullptr || two->neighbour != one || one->count != two->count || one->count.use_count() != 2) return "";
  return one->text + two->text + std::to_string(one->table.at("key")[1] + *one->count);
}
TEST_P(graph_calls, carry_values_by_message) {
  run([] {
    const auto one = std::unique_ptr<label, void (*)(label*)>{make_in_segment<label>(), [](label* l) { l->~label(); }};
    const auto two = std::unique_ptr<label, void (*)(label*)>{make_in_segment<label>(), [](label* l) { l->~label(); }};
    one->text = "one, which is longer than any small string ";
    one->table = {{"key", std::vector<int>(1000, 7)}};
    one->count = two->count = std::make_shared<int>(3);
    two->text = "two";
    one->neighbour = two.get();
    two->neighbour = one.get();
    const std::string expected = one->text + "two10";
    ASSERT_EQ(text_of(one.get()), expected);
    on_graph_copy([](const graph_copy_event& e) { EXPECT_TRUE(e.from == here() || e.how == transfer::message); });
    barrier();
    for (const place p : {neighbour(), here()}) {
      EXPECT_EQ(at(p, [](const test::shape* s) { return text_of(s); }, static_cast<test::shape*>(one.get())), expected);
      const owned<test::shape> back = at(p, [](test::shape* s) { return s; }, static_cast<test::shape*>(one.get()));
      EXPECT_EQ(text_of(back.get()), expected);
      const labels all{one.get(), {"a", "b"}};
      EXPECT_EQ(async_at(p, [](labels& l) { return text_of(l.first) + l.names[1]; }, all).get(), expected + "b");
      EXPECT_EQ(text_of(async_at(p, [](label* l) { return l; }, clone(one.get())).get().get()), expected);
    }
    barrier();
    on_graph_copy({});
  });
}

thread_local owned<list> kept;

TEST_P(graph_calls, may_keep_what_arrived) {
  run([] {
    list* const head = make_list(100);
    at(neighbour(), [](owned<list> mine) { kept = std::move(mine); }, head);
    barrier();
    EXPECT_EQ(sum(kept.get()), 4950U);
    kept = nullptr;
    barrier();
  });
}

struct request {
  situ::vector<int> numbers;
  situ::string name;
  list* first = nullptr;
};

TEST_P(graph_calls, carry_described_classes_by_value) {
  run([] {
    request r;
    r.numbers = {1, 2, 3};
    r.name = situ::string{"sent"};
    r.first = make_list(3);
    if (GetParam().how == transfer::pull) {  // the root, too, must lie where it can be read
      request* const placed = new (allocate_bytes(sizeof(request)).local()) request{std::move(r)};
      const owned<request> back = at(
          neighbour(),
          [](request* q) {
            q->numbers.push_back(static_cast<int>(sum(q->first)));
            q->name.append("!");
            return q;
          },
          placed);
      EXPECT_EQ(back->numbers, (situ::vector<int>{1, 2, 3, 3}));
      EXPECT_EQ(back->name, "sent!");
    } else {
      const owned<request> back = at(
          neighbour(),
          [](const request& q) {
            request changed{q.numbers, q.name, nullptr};
            changed.numbers.push_back(static_cast<int>(sum(q.first)));
            changed.name.append("!");
            return changed;
          },
          r);
      EXPECT_EQ(back->numbers, (situ::vector<int>{1, 2, 3, 3}));
      EXPECT_EQ(back->name, "sent!");
      EXPECT_EQ(back->first, nullptr);
    }
    barrier();
  });
}

// There and back through the next place, ever deeper.
std::uint64_t pass_on(list* l, int depth) {
  if (depth == 0) return sum(l);
  ++l->value;
  return at(neighbour(), &pass_on, l, depth - 1);
}

TEST_P(graph_calls, nest_at_any_depth) {
  run([] {
    EXPECT_EQ(at(neighbour(), &pass_on, make_list(20), 12), 190U + 12);
    barrier();
  });
}

TEST_P(graph_calls, run_at_once_and_in_finish) {
  run([] {
    list* const head = make_list(200);
    std::vector<future<std::uint64_t>> sums;
    std::vector<future<owned<list>>> lists;
    finish([&] {
      for (int i = 0; i < 40; ++i) {
        sums.push_back(
            async_at(place{static_cast<std::uint32_t>(i) % place_count()}, [](list* l) { return sum(l); }, head));
        lists.push_back(
            async_at(place{static_cast<std::uint32_t>(i) % place_count()}, [](list* l) { return l->next; }, head));
      }
    });
    for (auto& each : sums) EXPECT_EQ(each.get(), 19900U);
    for (auto& each : lists) EXPECT_EQ(sum(each.get()->previous), 19900U);
    barrier();
  });
}

struct shelf {
  situ::string text;
  situ::vector<int> numbers;
  situ::vector<shelf*> shelves;
  situ::vector<situ::string> lines;
  situ::array<double> values;
  std::variant<int, situ::string> either;
  std::optional<situ::vector<int>> maybe;
};
// Empty containers that arrived take what is put into them. Whether all came as it should.
bool fill_empty(shelf* s) {
  const bool were_empty = s->text.empty() && s->numbers.empty() && s->numbers.capacity() == 0 && s->shelves.empty() &&
                          s->lines.empty() && s->values.empty();
  s->text += "";
  std::get<situ::string>(s->either) += "";
  s->lines.clear();
  s->numbers.resize(0);
  const bool are_empty = s->text.empty() && std::get<situ::string>(s->either).empty() && s->lines.empty();
  s->text += "abc";
  s->numbers.push_back(7);
  s->shelves.insert(s->shelves.begin(), s);
  s->lines.push_back("x");
  s->lines[0] += "y";
  s->values = {1, 2};
  std::get<situ::string>(s->either) += "z";
  s->maybe->push_back(5);
  return were_empty && are_empty && s->text == "abc" && s->numbers[0] == 7 && s->shelves[0] == s &&
         s->lines[0] == "xy" && s->values[1] == 2 && std::get<situ::string>(s->either) == "z" && s->maybe->back() == 5;
}

TEST_P(graph_calls, bring_empty_containers_that_grow) {
  run([] {
    shelf* const s = new (allocate_bytes(sizeof(shelf)).local()) shelf;
    s->either = situ::string{};
    s->maybe.emplace();
    EXPECT_TRUE(at(neighbour(), &fill_empty, s));
    // Those that were cleared have room still, which stays behind.
    s->text = "some text that was there";
    s->text.clear();
    s->numbers = {1, 2, 3};
    s->numbers.clear();
    s->lines = {"one", "two"};
    s->lines.clear();
    s->shelves = {s};
    s->shelves.clear();
    EXPECT_TRUE(at(neighbour(), &fill_empty, s));
    EXPECT_TRUE(fill_empty(clone(s).get()));
    const owned<shelf> back = at(neighbour(), [](shelf* each) { return each; }, s);
    EXPECT_TRUE(fill_empty(back.get()));
    s->~shelf();
    deallocate(ptr<shelf>{s});
    barrier();
  });
}

// Copies of a list in an order of their own, so that one that is given back and taken again shows.
owned<list> copy_of_list(std::uint64_t first) {
  std::vector<list> nodes(100);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i] = {i + 1 < nodes.size() ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : nullptr, first};
  return clone(nodes.data());
}

// Their owners are handed over, and new graphs are made before any is read.
TEST_P(graph_calls, keep_what_is_handed_over) {
  run([] {
    barrier();
    const std::uint64_t blocks = memory_statistics().live_blocks;
    std::vector<future<std::uint64_t>> sums;
    for (std::uint64_t i = 0; i < 100; ++i)
      sums.push_back(async_at(neighbour(), [](list* l) { return sum(l); }, copy_of_list(i)));
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(sums[i].get(), 100 * i);
    finish([] {  // nobody holds a future
      for (std::uint64_t i = 0; i < 50; ++i) {
        owned<list> graph = copy_of_list(i);
        async_at(
            neighbour(), [](owned<list> l, std::uint64_t each) { EXPECT_EQ(sum(l.get()), 100 * each); },
            std::move(graph), i);
        EXPECT_FALSE(graph);
      }
    });
    std::vector<future<std::uint64_t>> failures;
    for (std::uint64_t i = 0; i < 20; ++i)
      failures.push_back(
          async_at(neighbour(), [](list*) -> std::uint64_t { throw std::runtime_error{"no"}; }, copy_of_list(i)));
    for (auto& each : failures) EXPECT_THROW(each.get(), remote_error);
    owned<list> shared = copy_of_list(3);
    future<std::uint64_t> of_shared =
        async_at(neighbour(), [](list* l) { return sum(l); }, shared.adopt(shared->next->previous));
    shared = nullptr;
    EXPECT_EQ(of_shared.get(), 300U);
    barrier();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (memory_statistics().live_blocks > blocks + 1 && std::chrono::steady_clock::now() < deadline) progress();
    EXPECT_LE(memory_statistics().live_blocks, blocks + 1);  // what is made once: the agent's queue
    barrier();
  });
}

// Temporaries and locals, which are gone before they are read.
TEST_P(graph_calls, keep_values) {
  run([] {
    std::vector<future<std::size_t>> answers;
    list* const tail = make_list(10);
    const auto look = [](const request& r) { return r.numbers.size() + r.name.size() + sum(r.first); };
    for (std::size_t i = 0; i < 50; ++i) {
      request r;
      r.numbers.resize(200 + i);
      r.name = situ::string{"a text that is longer than a word or two"};
      r.first = tail;
      answers.push_back(async_at(neighbour(), look, r));
      r.numbers.clear();
      answers.push_back(async_at(neighbour(), look, request{situ::vector<int>(300 + i), situ::string{"x"}, tail}));
    }
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(answers[2 * i].get(), 285 + i);
      EXPECT_EQ(answers[2 * i + 1].get(), 346 + i);
    }
    barrier();
  });
}

TEST_P(graph_calls, pass_references) {
  run([] {
    list* const head = make_list(3);
    EXPECT_EQ(at(
                  neighbour(), [](list* l) { return reinterpret_cast<std::uintptr_t>(l); }, by_reference(head)),
              reinterpret_cast<std::uintptr_t>(head));
    EXPECT_EQ(at(neighbour(), [](ptr<list> l) { return l.place(); }, by_reference(head)), here());
    barrier();
  });
}

TEST_P(graph_calls, throw_what_their_bodies_throw_and_leak_nothing) {
  run([] {
    list* const head = make_list(50);
    (void)at(neighbour(), [](list* l) { return sum(l); }, head);  // what is made once is made now
    barrier();
    const std::uint64_t blocks = memory_statistics().live_blocks;
    barrier();
    for (int i = 0; i < 20; ++i) {
      EXPECT_THROW(at(neighbour(), [](list*) -> std::uint64_t { throw std::runtime_error{"no"}; }, head), remote_error);
      EXPECT_THROW(at(neighbour(), [](list*) -> list* { throw std::runtime_error{"no"}; }, head), remote_error);
      EXPECT_EQ(at(neighbour(), [](list* l) { return l; }, head)->value, 0U);
    }
    barrier();
    // Who answered by pull or offload gives its result up when it next runs; what others gave back is taken when room
    // is sought.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    const ptr<std::byte> taken = allocate_bytes(1 << 20);
    while (memory_statistics().live_blocks > blocks + 1 && std::chrono::steady_clock::now() < deadline) progress();
    EXPECT_LE(memory_statistics().live_blocks, blocks + 1);
    deallocate(taken);
    barrier();
  });
}

TEST_P(graph_calls, carry_random_graphs_isomorphically) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (int round = 0; round < test::rounds(20); ++round) {
      test::graph_maker maker{test::mixed(seed, here().index() * 1000 + static_cast<std::uint64_t>(round))};
      const owned<node> original = clone(maker.make(1 + test::mixed(seed, static_cast<std::uint64_t>(round)) % 200));
      const owned<node> back = at(neighbour(), [](node* n) { return n; }, original.get());
      ASSERT_EQ(test::graph_comparison{}.difference(original.get(), back.get()), "");
      EXPECT_EQ(original.size(), back.size());
    }
    barrier();
  });
}

TEST_P(graph_calls, tell_of_each_copy) {
  run([] {
    static thread_local std::vector<graph_copy_event> events;
    events.clear();
    on_graph_copy([](const graph_copy_event& event) { events.push_back(event); });
    barrier();
    at(neighbour(), [](list* l) { return sum(l); }, make_list(10));
    barrier();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].size, (graph_size{10, 240}));
    EXPECT_EQ(events[0].from.index(), (here().index() + place_count() - 1) % place_count());
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(ways, graph_calls, testing::ValuesIn(all_ways()), name_of);

// --- what only some transfers do -------------------------------------------------------------------------------------

class graph_transfers : public test::on_places {};

std::vector<owned<list>>& hoard() {
  static thread_local std::vector<owned<list>> lists;
  return lists;
}

TEST_P(graph_transfers, pull_refuses_what_lies_in_no_segment) {
  run([] {
    list outside{nullptr, nullptr, 1};
    if (neighbour() != here()) {
      try {
        at(via(neighbour(), transfer::pull), [](list* l) { return sum(l); }, &outside);
        ADD_FAILURE();
      } catch (const remote_error& e) {
        EXPECT_NE(std::string{e.what()}.find("segment"), std::string::npos) << e.what();
      }
    }
    EXPECT_EQ(at(via(neighbour(), transfer::message), [](list* l) { return sum(l); }, &outside), 1U);
    EXPECT_EQ(at(via(neighbour(), transfer::offload), [](list* l) { return sum(l); }, &outside), 1U);
    EXPECT_EQ(at(neighbour(), [](list* l) { return sum(l); }, &outside), 1U);
    barrier();
  });
}

TEST_P(graph_transfers, automatic_pulls_large_graphs_and_sends_small_ones) {
  if (GetParam().places == 1) GTEST_SKIP() << "a call to its own place copies, whatever its size";
  run([] {
    static thread_local std::vector<transfer> seen;
    seen.clear();
    on_graph_copy([](const graph_copy_event& event) { seen.push_back(event.how); });
    barrier();
    at(neighbour(), [](list* l) { return sum(l); }, make_list(10));
    at(neighbour(), [](list* l) { return sum(l); }, make_list(50000));
    barrier();
    EXPECT_EQ(seen, (std::vector<transfer>{transfer::message, transfer::pull}));
    barrier();
  });
}

// The root lies in the segment, so the receiver looks for the graph; what lies behind it cannot be read there, and
// comes by message.
TEST_P(graph_transfers, automatic_fetches_what_lies_in_private_memory) {
  if (GetParam().places == 1) GTEST_SKIP() << "a call to its own place copies, wherever it lies";
  run([] {
    std::vector<list> nodes(1000);
    list* const head = make_list(100);
    list* last = head;
    while (last->next != nullptr) last = last->next;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes[i] = {i + 1 < nodes.size() ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : last, 1};
    last->next = nodes.data();
    const std::uint64_t sum_here = sum(head);
    EXPECT_EQ(at(neighbour(), [](list* l) { return sum(l); }, head), sum_here);
    const owned<list> back = at(neighbour(), [](list* l, list* same) { return l == same ? l : nullptr; }, head, head);
    EXPECT_EQ(sum(back.get()), sum_here);
    EXPECT_EQ(test::error_of([&] { at(via(neighbour(), transfer::pull), [](list* l) { return sum(l); }, head); }).code,
              errc::remote_exception);
    barrier();
  });
}

// Of several huge pages each, which are made while the graph is written.
TEST_P(graph_transfers, large_graphs_arrive_whole) {
  run([] {
    if (here() == place{0}) {
      constexpr std::uint64_t n = test::or_modelled(200'000, 20'000);
      list* const head = make_list(n);
      for (const transfer how : {transfer::message, transfer::pull, transfer::offload})
        for (int i = 0; i < 3; ++i)
          EXPECT_EQ(at(via(neighbour(), how), [](list* l) { return sum(l); }, head), n * (n - 1) / 2);
    }
    barrier();
  });
}

// Reads that are counted at once are as many, and of as many bytes, as those that are counted one by one, which a trace
// asks for. Lists are scanned by one loop, random graphs by another.
struct reads_counted {
  std::string gets;  // of place 1 from place 0: how many, and their bytes
  std::string outcome;
};
reads_counted count_reads_of_a_pull(const test::layout& where, bool traced) {
  const std::string path = testing::TempDir() + "situ_reads_" + std::to_string(::getpid()) + ".json";
  const launch_result result =
      test::launch_on(where,
                      [] {
                        if (here() == place{0}) {
                          const route to = via(place{1}, transfer::pull);
                          for (const std::size_t n : {1U, 1000U, 3000U})
                            EXPECT_EQ(at(to, [](list* l) { return sum(l); }, make_list(n)), n * (n - 1) / 2);
                          for (const std::uint64_t seed : {1U, 2U, 3U}) {
                            const owned<node> graph = clone(test::graph_maker{seed}.make(100));  // into the segment
                            EXPECT_TRUE(at(to, [](const node* n) { return n != nullptr; }, graph.get()));
                          }
                        }
                        barrier();
                      },
                      {.stats = true, .trace_file = traced ? path : std::string{}});
  if (traced) std::remove(path.c_str());
  std::istringstream table{result.statistics};
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words{line};
    std::string from, to, puts, put_bytes, put_unit, gets, get_bytes, get_unit;
    words >> from >> to >> puts >> put_bytes >> put_unit >> gets >> get_bytes >> get_unit;
    if (from == "1" && to == "0") return {gets + ", " + get_bytes + " " + get_unit, result.message()};
  }
  return {"", result.message() + result.statistics};
}

TEST_P(graph_transfers, pulls_count_the_same_reads_at_once_and_one_by_one) {
  if (GetParam().places != 2) GTEST_SKIP() << "of two places";
  const reads_counted at_once = count_reads_of_a_pull(GetParam(), false);
  const reads_counted one_by_one = count_reads_of_a_pull(GetParam(), true);
  EXPECT_EQ(at_once.gets, one_by_one.gets) << at_once.outcome << one_by_one.outcome;
  EXPECT_NE(at_once.gets, "") << at_once.outcome;
}

TEST_P(graph_transfers, more_offloads_than_the_queue_holds_wait_for_room) {
  run([] {
    constexpr std::uint64_t n = test::or_modelled(2000, 200);
    list* const head = make_list(n);
    std::vector<future<std::uint64_t>> sums;
    for (int i = 0; i < 100; ++i)
      sums.push_back(async_at(via(neighbour(), transfer::offload), [](list* l) { return sum(l); }, head));
    for (auto& each : sums) EXPECT_EQ(each.get(), n * (n - 1) / 2);
    barrier();
  });
}

// Each of them holds what it will write. (It once held 260 GiB of addresses, of which there are 128 TiB.)
TEST_P(graph_transfers, thousands_of_messages_wait_for_room) {
  if (GetParam().places == 1) GTEST_SKIP() << "sender and receiver are one";
  run([] {
    ptr<int> is_told;
    if (here().index() == 1) is_told = ptr<int>{new (allocate<int>(1).local()) int{0}};
    is_told = broadcast(is_told, 1);
    if (here().index() == 0) {
      constexpr std::uint64_t many = test::or_modelled(2000, 300);
      list* const head = make_list(100);
      std::uint64_t begun = 0;
      std::uint64_t right = 0;
      finish([&] {
        const auto send = [&, address = reinterpret_cast<std::uintptr_t>(head)] {
          ++begun;
          right += at(
                       via(place{1}, transfer::message), [](list* l) { return sum(l); },
                       reinterpret_cast<list*>(address)) == 4950;
        };
        for (std::uint64_t i = 0; i < many; ++i) async(send);
        while (begun != many) progress();
        atomic_store(is_told, 1);
      });
      EXPECT_EQ(right, many);
    } else if (here().index() == 1) {
      while (atomic_load(is_told) == 0) {  // takes nothing in
      }
    }
    barrier();
  });
}

// While the agent works on it, the caller computes.
TEST_P(graph_transfers, offload_leaves_the_caller_free) {
  run([] {
    constexpr std::uint64_t n = test::or_modelled(300'000, 30'000);
    const owned<list> graph = clone(make_list(n));
    bool was_ready_at_once = true;
    std::uint64_t turns = 0;
    future<std::uint64_t> answer =
        async_at(via(neighbour(), transfer::offload), [](list* l) { return sum(l); }, graph.get());
    was_ready_at_once = answer.is_ready();
    for (; !answer.is_ready(); ++turns) progress();
    EXPECT_FALSE(was_ready_at_once);
    EXPECT_GT(turns, 0U);
    EXPECT_EQ(answer.get(), n * (n - 1) / 2);
    barrier();
  });
}

TEST_P(graph_transfers, receiver_out_of_memory_is_an_error_at_the_caller) {
  if (GetParam().places == 1) GTEST_SKIP() << "sender and receiver are one";
  launch_options options;
  options.memory_budget = test::or_modelled(std::uint64_t{32}, std::uint64_t{4}) << 20;
  run(
      [] {
        if (here().index() == 0) {
          list* const head = make_list(test::or_modelled(200'000, 20'000));  // 4.8 MB, or half of one
          for (int i = 0; i < 2; ++i) {
            for (const transfer how : {transfer::pull, transfer::offload}) {
              bool failed = false;
              try {
                // Each call keeps its copy: at some point there is no room.
                for (int k = 0; k < 20; ++k)
                  at(via(place{1}, how), [](owned<list> l) { hoard().push_back(std::move(l)); }, head);
              } catch (const remote_error& e) {
                failed = true;
                EXPECT_NE(std::string{e.what()}.find("memory"), std::string::npos) << e.what();
              }
              EXPECT_TRUE(failed);
              at(place{1}, [] { hoard().clear(); });
            }
          }
        }
        barrier();
      },
      options);
}

INSTANTIATE_TEST_SUITE_P(layouts, graph_transfers, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
