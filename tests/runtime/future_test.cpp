// Futures and promises: values, exceptions, continuations, coroutines, many waiting at once.
#include "support/places.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace situ {
namespace {

using namespace std::chrono_literals;

class futures : public test::on_places {};

std::string message_of(const future<int>& f) {
  try {
    (void)f.get();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "none";
}

TEST_P(futures, of_values_that_are_there) {
  run([] {
    const future<int> f = make_ready_future(5);
    EXPECT_TRUE(f.is_ready());
    EXPECT_EQ(f.get(), 5);
    EXPECT_EQ(f.get(), 5) << "a future can be read again";
    make_ready_future().get();
    EXPECT_EQ(make_ready_future(std::string("abc")).get(), "abc");
    EXPECT_FALSE(future<int>{}.is_valid());
    EXPECT_TRUE(f.is_valid());
  });
}

TEST_P(futures, of_promises) {
  run([] {
    promise<std::string> p;
    const future<std::string> f = p.get_future();
    const future<std::string> same = f;
    EXPECT_FALSE(f.is_ready());
    const auto setter = async([p = std::move(p)]() mutable { p.set_value("set"); });
    EXPECT_EQ(f.get(), "set");
    EXPECT_EQ(same.get(), "set");
    promise<> done;
    const future<> end = done.get_future();
    done.set_value();
    end.get();
  });
}

TEST_P(futures, carry_exceptions) {
  run([] {
    promise<int> p;
    const future<int> f = p.get_future();
    p.set_exception(std::make_exception_ptr(std::logic_error{"no number"}));
    EXPECT_TRUE(f.is_ready());
    f.wait();
    EXPECT_EQ(message_of(f), "no number");
    EXPECT_EQ(message_of(f), "no number") << "and throw again";
    EXPECT_THROW((void)f.get(), std::logic_error) << "its own type where nothing was sent";
    EXPECT_EQ(message_of(async([]() -> int { throw std::runtime_error{"thrown"}; })), "thrown");
  });
}

TEST_P(futures, of_broken_promises_say_so) {
  run([] {
    future<int> f;
    {
      const promise<int> p;
      f = p.get_future();
    }
    EXPECT_TRUE(f.is_ready());
    const auto e = test::error_of([&] { (void)f.get(); });
    EXPECT_EQ(e.code, errc::bad_argument);
    EXPECT_TRUE(e.says("destroyed without a value")) << e.text;
    promise<int> moved;
    const future<int> later = moved.get_future();
    promise<int> target = std::move(moved);
    EXPECT_FALSE(later.is_ready()) << "moving breaks nothing";
    target.set_value(1);
    EXPECT_EQ(later.get(), 1);
  });
}

TEST_P(futures, of_values_that_only_move) {
  run([] {
    using handle = std::unique_ptr<int>;
    promise<handle> p;
    future<handle> f = p.get_future();
    p.set_value(std::make_unique<int>(7));
    EXPECT_EQ(*f.get(), 7) << "seen in place";
    const handle taken = std::move(f).get();
    EXPECT_EQ(*taken, 7);
    EXPECT_EQ(*async([](handle h) { return std::make_unique<int>(*h + 1); }, std::make_unique<int>(8)).get(), 9);
    EXPECT_EQ(async([] { return std::make_unique<int>(4); }).then([](const handle& h) { return *h; }).get(), 4);
    auto both = when_all(async([] { return 1; }), async([] {}));
    EXPECT_EQ(std::get<0>(both.get()), 1);
  });
}

TEST_P(futures, continue_with_then) {
  run([] {
    EXPECT_EQ(
        make_ready_future(3).then([](int n) { return n * 2; }).then([](int n) { return std::to_string(n); }).get(),
        "6");
    promise<int> p;
    std::vector<int> order;
    const auto first = p.get_future().then([&](int n) { order.push_back(n); });
    const auto second = p.get_future().then([&](int n) { order.push_back(n + 1); });
    progress();
    EXPECT_TRUE(order.empty());
    p.set_value(1);
    EXPECT_TRUE(order.empty()) << "continuations are tasks, never run inside set_value";
    when_all(first, second).get();
    EXPECT_EQ(order, (std::vector{1, 2})) << "in the order in which they were added";
    // A continuation may wait, and its future's future is unwrapped.
    const place next{(here().index() + 1) % place_count()};
    EXPECT_EQ(make_ready_future(20).then([next](int n) { return at(next, [](int m) { return m + 1; }, n); }).get(), 21);
    EXPECT_EQ(
        make_ready_future(20).then([next](int n) { return async_at(next, [](int m) { return m + 2; }, n); }).get(), 22);
  });
}

TEST_P(futures, pass_exceptions_through_then) {
  run([] {
    bool called = false;
    const future<int> failed = async([]() -> int { throw std::runtime_error{"first"}; });
    const future<int> after = failed.then([&](int n) {
      called = true;
      return n;
    });
    EXPECT_EQ(message_of(after), "first");
    EXPECT_FALSE(called);
    const future<int> thrown = make_ready_future(1).then([](int) -> int { throw std::runtime_error{"second"}; });
    EXPECT_EQ(message_of(thrown), "second");
  });
}

TEST_P(futures, gather_with_when_all) {
  run([] {
    const auto [a, b] = when_all(async([] { return 1; }), async([] { return std::string{"two"}; }), async([] {})).get();
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "two");
    when_all().get();
    when_all(make_ready_future(), async([] {})).get();

    std::vector<future<std::uint32_t>> many;
    for (const place p : places())
      for (int i = 0; i < 20; ++i) many.push_back(async_at(p, [] { return here().index(); }));
    const std::vector<std::uint32_t> all = when_all(many).get();
    ASSERT_EQ(all.size(), 20 * place_count());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i / 20);
    EXPECT_TRUE(when_all(std::vector<future<int>>{}).get().empty());
    when_all(std::vector<future<>>(5, make_ready_future())).get();

    const future<int> failed = async([]() -> int { throw std::runtime_error{"one of them"}; });
    bool others_ended = false;
    try {
      when_all(async([&] {
                 progress();
                 others_ended = true;
               }),
               failed)
          .get();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "one of them");
      EXPECT_TRUE(others_ended) << "ready when all are, failed or not";
    }
    EXPECT_THROW(when_all(std::vector{make_ready_future(1), failed}).get(), std::runtime_error);
  });
}

TEST_P(futures, wait_until_a_deadline) {
  run([] {
    promise<int> p;
    const future<int> f = p.get_future();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(f.wait_for(3ms));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
    EXPECT_FALSE(f.wait_until(start));
    EXPECT_FALSE(f.is_ready()) << "the wait is over, not what it was for";
    const future<> later = async([&] { p.set_value(4); });
    EXPECT_TRUE(f.wait_for(1h));
    EXPECT_EQ(f.get(), 4);
    EXPECT_TRUE(f.wait_for(-1h)) << "it is there";
    // One turn is made even where the time is over.
    const future<int> near = async([] { return 1; });
    EXPECT_TRUE(near.wait_for(0s));
    later.get();
  });
}

TEST_P(futures, wait_for_any_and_for_all) {
  run([] {
    promise<int> p, q;
    const std::vector both{p.get_future(), q.get_future()};
    EXPECT_EQ(wait_any(both, 1ms), std::nullopt);
    EXPECT_FALSE(wait_all(both, 1ms));
    const future<> setter = async([&] { q.set_value(1); });
    EXPECT_EQ(wait_any(both), 1U);
    EXPECT_EQ(wait_any(both, 1h), 1U);
    EXPECT_FALSE(wait_all(both, 1ms));
    p.set_exception(std::make_exception_ptr(std::runtime_error{"failed"}));
    EXPECT_EQ(wait_any(both), 0U) << "the first of those that are ready; an exception counts";
    wait_all(both);
    EXPECT_TRUE(wait_all(both, 0s));
    promise<std::string> text;
    EXPECT_EQ(wait_any(text.get_future(), setter, both[1]), 1U);
    std::vector<future<std::uint32_t>> calls;
    for (const place each : places()) calls.push_back(async_at(each, [] { return here().index(); }));
    const std::size_t first = wait_any(calls);
    EXPECT_EQ(calls.at(first).get(), first);
    wait_all(calls);
  });
}

TEST_P(futures, gather_with_when_any) {
  run([] {
    promise<int> p, q;
    const std::vector both{p.get_future(), q.get_future()};
    const future<std::size_t> first = when_any(both);
    const future<std::size_t> again = when_any(both[0], async([] { return std::string{"x"}; }));
    EXPECT_EQ(again.get(), 1U);
    EXPECT_FALSE(first.is_ready());
    q.set_value(1);
    EXPECT_EQ(first.get(), 1U);
    EXPECT_EQ(when_any(both).get(), 1U) << "ready already";
    p.set_value(2);
    EXPECT_EQ(first.get(), 1U) << "what comes later changes nothing";
    {
      promise<int> dropped;
      EXPECT_FALSE(when_any(dropped.get_future()).wait_for(0s));
    }
  });
}

// Each of them sets aside nothing of its own: the memory is that of one gathering.
TEST_P(futures, gather_by_the_thousand) {
  run([] {
    constexpr std::size_t count = test::or_modelled(5000, 500);
    std::vector<promise<std::size_t>> promises(count);
    std::vector<future<std::size_t>> values;
    for (const auto& each : promises) values.push_back(each.get_future());
    const auto all = when_all(values);
    const auto any = when_any(values);
    for (std::size_t i = count; i-- > 0;) {
      EXPECT_FALSE(all.is_ready());
      promises[i].set_value(i);
    }
    EXPECT_EQ(any.get(), count - 1);
    const std::vector<std::size_t> found = all.get();
    ASSERT_EQ(found.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i], i);
    std::vector<future<>> done(count, make_ready_future());
    when_all(std::move(done)).get();
  });
}

TEST(futures, that_are_ready_may_outlive_their_runtime) {
  future<> kept;
  {
    const runtime rt;
    kept = make_ready_future();
  }
  EXPECT_TRUE(kept.is_ready());
  kept.get();
  make_ready_future().get();
}

future<int> add_at(place p, int a, int b) {
  const int sum = co_await async_at(p, [](int x, int y) { return x + y; }, a, b);
  co_await async([] { progress(); });
  co_return sum;
}
future<> set(int& to, int value) { to = co_await make_ready_future(value); }
future<int> fail_after_waiting() {
  co_await async([] {});
  throw std::runtime_error{"in a coroutine"};
}
future<std::string> catch_inside() {
  try {
    co_await fail_after_waiting();
  } catch (const std::runtime_error& e) {
    co_return e.what();
  }
  co_return "nothing";
}
future<std::uint64_t> sum_over_places(std::uint64_t depth) {
  if (depth == 0) co_return here().index();
  std::uint64_t sum = 0;
  for (const place p : places()) sum += co_await async_at(p, [] { return std::uint64_t{here().index()}; });
  co_return sum + co_await sum_over_places(depth - 1);
}

TEST_P(futures, are_awaited_by_coroutines) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    EXPECT_EQ(add_at(next, 20, 22).get(), 42);
    int value = 0;
    set(value, 5).get();
    EXPECT_EQ(value, 5);
    EXPECT_EQ(message_of(fail_after_waiting()), "in a coroutine");
    EXPECT_EQ(catch_inside().get(), "in a coroutine");
    const std::uint64_t n = place_count();
    EXPECT_EQ(sum_over_places(50).get(), 50 * n * (n - 1) / 2 + here().index());
    std::vector<future<int>> many;
    for (int i = 0; i < 200; ++i) many.push_back(add_at(next, i, 1));
    for (int i = 0; i < 200; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].get(), i + 1);
  });
}

// A coroutine that finish() knows of: its continuations are counted in the scope.
TEST_P(futures, of_coroutines_belong_to_their_finish_scope) {
  run([] {
    int done = 0;
    finish([&] {
      for (int i = 0; i < 10; ++i)
        async([&done] {
          return [](int& count) -> future<> {
            co_await async([] { progress(); });
            co_await async([] { progress(); });
            ++count;
          }(done);
        });
    });
    EXPECT_EQ(done, 10);
  });
}

// Each waits on a stack of its own; none is lost and none runs twice.
TEST_P(futures, thousands_wait_at_once) {
  run([] {
    const int tasks = test::with_sanitizer || test::is_modelled ? 200 : 2000;
    promise<int> gate;
    const future<int> opened = gate.get_future();
    int waiting = 0;
    int sum = 0;
    finish([&] {
      for (int i = 0; i < tasks; ++i)
        async([&, i] {
          ++waiting;
          sum += opened.get() + i;
        });
      while (waiting < tasks) progress();
      EXPECT_EQ(sum, 0);
      gate.set_value(1);
    });
    EXPECT_EQ(sum, tasks + tasks * (tasks - 1) / 2);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, futures, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
