// at and async_at: every kind of argument and result, nesting in every direction, payloads of every size, exceptions.
#include "support/places.h"

#include <numeric>
#include <stdexcept>

namespace situ {
namespace {

using test::mixed;
using test::pattern;

class calls : public test::on_places {};

place next_place() { return place{(here().index() + 1) % place_count()}; }

struct plain {
  int a;
  double b;
  friend bool operator==(const plain&, const plain&) = default;
};
struct empty {};
enum class colour : std::uint8_t { red = 3 };

// Sends values of this type there and back, both ways.
template <class T>
void expect_travels(const T& value) {
  for (const place p : places()) {
    EXPECT_EQ(at(p, [](T v) { return v; }, value), value);
    EXPECT_EQ(at(p, [](const T& v) { return v; }, value), value);
    EXPECT_EQ(async_at(p, [](const T& v) { return v; }, value).get(), value);
  }
}

TEST_P(calls, carry_values_of_every_kind) {
  run([] {
    expect_travels(42);
    expect_travels(true);
    expect_travels(-2.5);
    expect_travels('x');
    expect_travels(colour::red);
    expect_travels(plain{1, 2.5});
    expect_travels(std::array<int, 4>{1, 2, 3, 4});
    expect_travels(here());
    expect_travels(ptr<long>{});
    expect_travels(std::string{});
    expect_travels(std::string("with \0 inside", 13));
    expect_travels(std::vector<int>{});
    expect_travels(std::vector<double>{1, 2, 3});
    expect_travels(std::vector<bool>{true, false, true});
    expect_travels(std::vector<std::string>{"a", "", "bcd"});
    expect_travels(std::vector<std::vector<plain>>{{{1, 2}}, {}, {{3, 4}, {5, 6}}});
    expect_travels(std::optional<int>{});
    expect_travels(std::optional<std::string>{"there"});
    expect_travels(std::tuple<int, std::string, std::vector<char>>{1, "two", {'3'}});
    expect_travels(std::pair<std::string, double>{"x", 1.5});
    expect_travels(std::array<std::string, 2>{"p", "q"});
    expect_travels(std::optional<std::tuple<std::vector<std::optional<int>>, std::pair<int, std::string>>>{
        {{1, std::nullopt}, {2, "z"}}});
  });
}

int twice(int n) { return 2 * n; }
std::size_t length(const std::string& s) { return s.size(); }

TEST_P(calls, take_functions_literals_and_nothing) {
  run([] {
    for (const place p : places()) {
      EXPECT_EQ(at(p, &twice, 21), 42);
      EXPECT_EQ(at(p, twice, 21), 42);
      EXPECT_EQ(at(p, length, "literal"), 7U);
      EXPECT_EQ(at(p, length, std::string_view{"view"}), 4U);
      EXPECT_EQ(at(p, [](double d) { return d; }, 3), 3.0) << "converted as in any call";
      EXPECT_EQ(at(p, std::plus<>{}, 1, 2), 3);
      at(p, [] {});
      at(p, [](empty) {}, empty{});
      EXPECT_EQ(at(
                    p,
                    [](int a, const std::string& b, std::vector<int> c, std::optional<char> d, plain e) {
                      return a + static_cast<int>(b.size() + c.size()) + *d + e.a;
                    },
                    1, "ab", std::vector<int>(3), std::optional{'d'}, plain{5, 0}),
                1 + 2 + 3 + 'd' + 5);
      EXPECT_EQ(at(p, [] { return here(); }), p);
      EXPECT_EQ(at(p, [] { return async([] { return 7; }); }), 7)
          << "a future that the body returns is waited for there";
    }
  });
}

TEST_P(calls, work_on_copies) {
  run([] {
    std::vector<int> mine{1, 2, 3};
    for (const place p : places())
      EXPECT_EQ(at(
                    p,
                    [](std::vector<int> v) {
                      v.clear();
                      return v.size();
                    },
                    mine),
                0U);
    EXPECT_EQ(mine.size(), 3U) << "at its own place as well";
  });
}

TEST_P(calls, see_memory_where_it_is) {
  run([] {
    const auto cells = all_gather(allocate<long>());
    put(cells[here().index()], static_cast<long>(here().index()));
    barrier();
    for (const place p : places())
      EXPECT_EQ(at(
                    p,
                    [](ptr<long> cell) {
                      EXPECT_TRUE(cell.is_here());
                      return *cell.local();
                    },
                    cells[p.index()]),
                p.index());
    barrier();
    deallocate(cells[here().index()]);
  });
}

// --- Nesting ---------------------------------------------------------------------------------------------------------

std::uint32_t bounce(std::uint32_t depth, place other) {
  if (depth == 0) return 0;
  return 1 + at(other, &bounce, depth - 1, here());
}

TEST_P(calls, bounce_between_two_places_a_thousand_deep) {
  run([] {
    const std::uint32_t depth = test::with_sanitizer || test::is_modelled ? 200 : 1000;
    if (here().index() < 2) {
      EXPECT_EQ(bounce(depth, next_place()), depth);
    }
    barrier();
  });
}

std::uint64_t go_round(std::uint32_t hops) {
  return hops == 0 ? here().index() : at(next_place(), &go_round, hops - 1) + here().index();
}

TEST_P(calls, go_round_all_places_at_once) {
  run([] {
    std::uint64_t expected = 0;
    for (std::uint32_t i = 0; i <= 40; ++i) expected += (here().index() + i) % place_count();
    for (int i = 0; i < test::rounds(50); ++i) EXPECT_EQ(go_round(40), expected);
    barrier();
  });
}

// Everybody asks everybody, who asks everybody again.
TEST_P(calls, fan_out_in_two_levels) {
  run([] {
    std::vector<future<std::uint64_t>> sums;
    for (int round = 0; round < 5; ++round)
      for (const place p : places())
        sums.push_back(async_at(
            p,
            [](int r) {
              std::uint64_t sum = 0;
              for (const place q : places())
                sum += at(q, [](int s) { return std::uint64_t{here().index()} + static_cast<std::uint64_t>(s); }, r);
              return sum;
            },
            round));
    const std::uint64_t n = place_count();
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i].get(), n * (n - 1) / 2 + n * (i / n));
    barrier();
  });
}

TEST_P(calls, within_async_within_finish) {
  run([] {
    int sum = 0;
    finish([&] {
      for (const place p : places())
        async([&sum, p] { sum += at(p, [] { return at(next_place(), [] { return 1; }); }); });
    });
    EXPECT_EQ(sum, static_cast<int>(place_count()));
    barrier();
  });
}

thread_local promise<int>* gate = nullptr;

// Many calls wait at their target for something that comes later: each has a stack of its own.
TEST_P(calls, wait_by_the_thousand_at_their_target) {
  run([] {
    const int count = test::rounds(1000) / static_cast<int>(place_count());
    promise<int> opened;
    gate = &opened;
    barrier();
    std::vector<future<int>> answers;
    for (const place p : places())
      for (int i = 0; i < count; ++i)
        answers.push_back(async_at(p, [](int n) { return gate->get_future().get() + n; }, i));
    barrier();
    async([&] { opened.set_value(100); });
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), 100 + static_cast<int>(i) % count);
    barrier();
  });
}

// --- Sizes -----------------------------------------------------------------------------------------------------------

TEST_P(calls, carry_payloads_of_every_size_and_give_memory_back) {
  run([] {
    const memory_usage before = test::settled_memory();
    const std::size_t edge = am::max_medium_bytes();
    std::vector<std::size_t> sizes{0, 1, 39, 40, 41, 1000, 65536, 1 << 20, (5 << 20) + 3};
    const std::size_t step = test::or_modelled(1, 13);
    for (std::size_t near = 0; near < 40; near += step)
      sizes.push_back(edge - 20 + near);  // from the message into a buffer
    if (test::is_modelled) std::erase_if(sizes, [&](std::size_t size) { return size > edge + 20; });
    for (const std::size_t size : sizes) {
      const std::vector<std::byte> sent = pattern(size, mixed(size, here().index()));
      const std::vector<std::byte> back = at(
          next_place(),
          [](std::vector<std::byte> v) {
            std::reverse(v.begin(), v.end());
            return v;
          },
          sent);
      EXPECT_TRUE(std::equal(sent.rbegin(), sent.rend(), back.begin(), back.end())) << size;
    }
    const memory_usage after = test::settled_memory();
    EXPECT_EQ(after.live_bytes, before.live_bytes);
    EXPECT_EQ(after.live_blocks, before.live_blocks);
  });
}

TEST_P(calls, of_large_payloads_from_all_sides_at_once) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    const std::vector<std::uint32_t> numbers = [] {
      std::vector<std::uint32_t> made(40000);
      std::iota(made.begin(), made.end(), here().index());
      return made;
    }();
    const std::uint64_t sum = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
    std::vector<future<std::uint64_t>> sums;
    for (int i = 0; i < test::rounds(60); ++i)
      sums.push_back(async_at(
          place{static_cast<std::uint32_t>(i) % place_count()},
          [](const std::vector<std::uint32_t>& v) { return std::accumulate(v.begin(), v.end(), std::uint64_t{0}); },
          numbers));
    for (const auto& each : sums) EXPECT_EQ(each.get(), sum);
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

// --- Exceptions ------------------------------------------------------------------------------------------------------

struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Call>
remote_error thrown_by(Call call) {
  try {
    call();
  } catch (const remote_error& e) {
    return e;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return {0, "", ""};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {0, "", ""};
}

TEST_P(calls, bring_exceptions_back) {
  run([] {
    for (const place p : places()) {
      const remote_error e = thrown_by([&] { at(p, [](int n) { throw own_error{"with " + std::to_string(n)}; }, 5); });
      EXPECT_EQ(e.code(), errc::remote_exception);
      EXPECT_EQ(e.place_index(), p.index());
      EXPECT_EQ(e.remote_what(), "with 5");
      EXPECT_NE(e.type_name().find("own_error"), std::string::npos) << e.type_name();
      EXPECT_NE(std::string{e.what()}.find("with 5"), std::string::npos) << e.what();
      const remote_error later =
          thrown_by([&] { (void)async_at(p, []() -> int { throw std::out_of_range{"far"}; }).get(); });
      EXPECT_EQ(later.type_name(), "std::out_of_range");
      EXPECT_EQ(later.remote_what(), "far");
    }
    barrier();
  });
}

TEST_P(calls, bring_back_what_is_no_std_exception) {
  run([] {
    const remote_error e = thrown_by([] { at(next_place(), [] { throw 42; }); });
    EXPECT_EQ(e.type_name(), "int");
    EXPECT_FALSE(e.remote_what().empty());
    barrier();
  });
}

TEST_P(calls, name_the_place_where_it_was_first_thrown) {
  run([] {
    const place origin{(here().index() + 2) % place_count()};
    const remote_error e =
        thrown_by([&] { at(next_place(), [] { at(next_place(), [] { throw own_error{"deep"}; }); }); });
    EXPECT_EQ(e.place_index(), origin.index());
    EXPECT_EQ(e.remote_what(), "deep");
    EXPECT_NE(e.type_name().find("own_error"), std::string::npos) << "not remote_error: " << e.type_name();
    EXPECT_EQ(thrown_by([&] { at(next_place(), [] { put(ptr<int>{}, 1); }); }).type_name(), "situ::error");
    barrier();
  });
}

constexpr std::uint32_t line_of_deep_call = __LINE__ + 2;
int call_deep() {
  return at(next_place(), []() -> int { throw own_error{"deep"}; });
}
int fail_far(std::uint32_t hops) { return hops == 0 ? throw own_error{"end"} : at(next_place(), &fail_far, hops - 1); }

TEST_P(calls, bring_the_stack_of_calls_back) {
  run([] {
    const std::uint32_t me = here().index(), n = place_count();
    const std::uint32_t line = __LINE__ + 1;
    const remote_error e = thrown_by([&] { at(next_place(), [](int x) { return x + call_deep(); }, 1); });
    ASSERT_EQ(e.calls().size(), 2U) << e.what();
    const remote_call &inner = e.calls()[0], &outer = e.calls()[1];
    EXPECT_EQ(inner.place_index, (me + 2) % n);
    EXPECT_EQ(inner.caller_index, (me + 1) % n);
    EXPECT_NE(inner.function.find("call_deep()::<lambda()>"), std::string::npos) << inner.function;
    EXPECT_EQ(inner.file, "at_test.cpp");
    EXPECT_EQ(inner.line, line_of_deep_call);
    EXPECT_EQ(outer.place_index, (me + 1) % n);
    EXPECT_EQ(outer.caller_index, me);
    EXPECT_NE(outer.function.find("<lambda(int)>"), std::string::npos) << outer.function;
    EXPECT_EQ(outer.line, line);
    const std::string text = "\n  in " + inner.function + " at place " + std::to_string(inner.place_index) +
                             ", called by place " + std::to_string(inner.caller_index) +
                             " at at_test.cpp:" + std::to_string(inner.line) + "\n  in " + outer.function;
    EXPECT_NE(std::string{e.what()}.find(text), std::string::npos) << e.what();

    // Of a call that does not wait, the line where its result is asked for; each who asks has its own.
    const future<int> later = async_at(next_place(), &call_deep);
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t asked = __LINE__ + 1;
      const remote_error each = thrown_by([&] { (void)later.get(); });
      ASSERT_EQ(each.calls().size(), 2U) << each.what();
      EXPECT_EQ(each.calls()[0].line, line_of_deep_call);
      EXPECT_EQ(each.calls()[1].line, asked);
    }
    const remote_error in_scope =
        thrown_by([] { finish([] { async_at(next_place(), [] { throw own_error{"x"}; }); }); });
    ASSERT_EQ(in_scope.calls().size(), 1U);
    EXPECT_EQ(in_scope.calls()[0].line, 0U);  // nobody waited for it by itself
    barrier();
  });
}

TEST_P(calls, bring_the_ends_of_a_long_stack_back) {
  run([] {
    const remote_error e = thrown_by([] { fail_far(100); });
    ASSERT_EQ(e.calls().size(), 32U);
    EXPECT_EQ(e.calls()[15].left_out, 100U - 32U);
    EXPECT_EQ(e.calls()[31].caller_index, here().index());
    EXPECT_EQ(e.calls()[0].place_index, (here().index() + 100) % place_count());
    for (const remote_call& each : e.calls()) EXPECT_EQ(each.file, "at_test.cpp");
    barrier();
  });
}

TEST_P(calls, bring_long_messages_back_whole) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    const remote_error e = thrown_by([] { at(next_place(), [] { throw own_error{std::string(300000, 'x')}; }); });
    EXPECT_EQ(e.remote_what(), std::string(300000, 'x'));
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

// Exceptions in flight belong to their fiber: a task that waits within a catch clause finds its own exception again.
TEST_P(calls, keep_exceptions_of_different_tasks_apart) {
  run([] {
    std::vector<future<>> tasks;
    for (int i = 0; i < 50; ++i)
      tasks.push_back(async([i] {
        try {
          throw own_error{std::to_string(i)};
        } catch (const own_error&) {
          at(next_place(), [] {});
          try {
            throw;
          } catch (const own_error& again) {
            EXPECT_EQ(again.what(), std::to_string(i));
          }
        }
      }));
    when_all(tasks).get();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, calls, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
