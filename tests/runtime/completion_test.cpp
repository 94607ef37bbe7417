// Puts that complete in every way, batches of one-sided operations, and calls that are stopped before they begin.
#include "support/places.h"

#include <numeric>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

namespace situ {
namespace {

class completions : public test::on_places {};

[[nodiscard]] place next_place() { return place{(here().index() + 1) % place_count()}; }

// Room for numbers, and a signal, at every place.
struct offered {
  ptr<long> numbers;
  ptr<signal> ready;
};
class offers {
 public:
  explicit offers(std::size_t count) {
    offered mine{allocate<long>(count), allocate_signals()};
    std::fill_n(mine.numbers.local(), count, 0L);
    all_ = all_gather(mine);
  }
  ~offers() {
    barrier();
    deallocate(mine().numbers);
    deallocate(mine().ready);
  }
  offers(const offers&) = delete;
  offers& operator=(const offers&) = delete;
  [[nodiscard]] const offered& mine() const { return all_[here().index()]; }
  [[nodiscard]] const offered& next() const { return all_[next_place().index()]; }

 private:
  std::vector<offered> all_;
};

TEST_P(completions, of_a_put_as_futures_promises_and_callbacks) {
  run([] {
    const offers all{4};
    long source[] = {1, 2, 3, 4};
    auto [mine_again, done] = put_async(all.next().numbers, source, 4, on_source(), on_operation());
    mine_again.get();
    done.get();
    promise<> kept;
    const future<> by_promise = kept.get_future();
    bool called = false;
    finish([&] {
      static_assert(std::is_void_v<decltype(put_async(all.next().numbers, 5L, on_operation(kept)))>);
      put_async(all.next().numbers, 5L, on_operation(kept), on_source([&] { called = true; }));
      EXPECT_FALSE(called) << "a callback is a task, never run inside the put";
    });
    EXPECT_TRUE(called);
    EXPECT_TRUE(by_promise.is_ready());
    barrier();
    const long* const found = all.mine().numbers.local();
    EXPECT_EQ((std::vector<long>(found, found + 4)), (std::vector<long>{5, 2, 3, 4}));
  });
}

TEST_P(completions, by_a_signal_come_after_the_data) {
  run([] {
    constexpr std::size_t count = 1000;
    const offers all{count};
    std::vector<long> source(count);
    for (long round = 1; round <= 20; ++round) {
      std::iota(source.begin(), source.end(), round);
      put_async(all.next().numbers, source.data(), count, signals(all.next().ready, 1, signal_by::add));
      wait_until(all.mine().ready, static_cast<std::uint64_t>(round));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all.mine().numbers.local()[i], round + static_cast<long>(i));
      barrier();
    }
    const auto apart = test::error_of([&] {
      if (place_count() == 1) throw_error(errc::bad_address, "both lie at one place");
      put_async(all.next().numbers, 1L, signals(all.mine().ready, 1));
    });
    EXPECT_TRUE(apart.says("both lie at one place")) << apart.text;
  });
}

TEST_P(completions, on_arrival_run_there_and_may_wait) {
  run([] {
    const offers all{8};
    const long source[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const future<long> sum = put_async(all.next().numbers, source, 8,
                                       on_arrival(
                                           [](ptr<long> numbers, std::size_t n, place back) {
                                             EXPECT_TRUE(numbers.is_here());
                                             long total = 0;
                                             for (std::size_t i = 0; i < n; ++i) total += numbers.local()[i];
                                             return at(back, [](long t) { return t + 1; }, total);
                                           },
                                           all.next().numbers, std::size_t{8}, here()));
    EXPECT_EQ(sum.get(), 37);
    EXPECT_THROW(
        finish([&] { (void)put_async(all.next().numbers, 1L, on_arrival([] { throw std::runtime_error{"there"}; })); }),
        remote_error)
        << "nobody holds its future";
    const auto [first, text] =
        put_async(all.next().numbers, 1L, on_operation(),
                  on_arrival([](const std::string& s) { return s + "!"; }, std::string{"arrived"}));
    EXPECT_EQ(text.get(), "arrived!");
    EXPECT_TRUE(first.is_ready());
  });
}

TEST_P(completions, of_a_batch_come_together) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    constexpr std::size_t count = 3000;
    const offers all{count};
    const auto everywhere = all_gather(all.mine().numbers);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64{seed});
    access_batch batch;
    // Element i of everybody's numbers is written by place i % n.
    for (const std::size_t i : order)
      for (const ptr<long> numbers : everywhere)
        if (i % place_count() == here().index())
          batch.put(numbers + static_cast<std::ptrdiff_t>(i), static_cast<long>(10 * i));
    batch.complete();
    barrier();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all.mine().numbers.local()[i], static_cast<long>(10 * i));
    std::vector<long> copies(count);
    for (const std::size_t i : order) batch.get(&copies[i], all.next().numbers + static_cast<std::ptrdiff_t>(i));
    batch.put(all.next().numbers, copies.data(), 0);
    batch.complete_async().get();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(copies[i], static_cast<long>(10 * i));
    long own = 0;
    EXPECT_EQ(test::error_of([&] { batch.put(ptr<long>{&own}, 1L); }).code, errc::bad_address);
    EXPECT_EQ(test::error_of([&] { batch.get(&own, ptr<long>{}); }).code, errc::bad_address);
    const ptr<long> beyond{reinterpret_cast<long*>(all.next().numbers.address() + (std::uintptr_t{1} << 30))};
    EXPECT_EQ(test::error_of([&] { batch.put(beyond, 1L); }).code, errc::bad_address);
  });
}

// --- stopping --------------------------------------------------------------------------------------------------------

TEST_P(completions, of_tasks_that_are_stopped_before_they_begin) {
  run([] {
    std::stop_source source;
    int ran = 0;
    const future<int> before = async(source.get_token(), [&ran](int n) { return ran += n; }, 1);
    EXPECT_EQ(before.get(), 1);
    finish([&] {  // which takes it for no failure
      const future<int> after = async(source.get_token(), [&ran](int n) { return ran += n; }, 10);
      (void)async(source.get_token(), [&ran] { ran += 100; });
      source.request_stop();
      EXPECT_EQ(test::error_of([&] { (void)after.get(); }).code, errc::cancelled);
    });
    EXPECT_EQ(ran, 1);
  });
}

TEST_P(completions, of_calls_that_are_stopped_before_they_begin) {
  run([] {
    thread_local int began = 0;
    began = 0;
    barrier();
    std::stop_source source;
    const auto call = [] { return ++began; };
    const memory_usage before = test::settled_memory();
    EXPECT_EQ(async_at(next_place(), source.get_token(), call).get(), 1);
    // It is here that the calls to this place are taken in, so it must not wait before it stops its own.
    barrier();
    finish([&] {
      const future<int> stopped = async_at(next_place(), source.get_token(), [] {
        began += 100;
        return 0;
      });
      source.request_stop();
      stopped.wait();
      try {
        EXPECT_EQ(stopped.get(), 0);  // it had begun
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::cancelled);
      }
      (void)async_at(next_place(), source.get_token(), [] { began += 1000; });
    });
    barrier();
    EXPECT_LT(began, 1000) << "stopped before it was sent";
    if (place_count() == 1) {
      EXPECT_EQ(began, 1) << "a place meets its own message only when it waits";
    }
    EXPECT_EQ(test::settled_memory().live_blocks, before.live_blocks);
  });
}

TEST_P(completions, of_calls_come_once_whoever_wins) {
  run([] {
    thread_local int began = 0;
    began = 0;
    barrier();
    int results = 0;
    const int tries = test::rounds(500);
    for (int i = 0; i < tries; ++i) {
      std::stop_source source;
      const future<int> f = async_at(next_place(), source.get_token(), [] { return ++began; });
      for (int turn = i % 4; turn > 0; --turn) progress();
      source.request_stop();
      f.wait();
      try {
        (void)f.get();
        ++results;
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::cancelled) << e.what();
      }
    }
    const int all_results = all_reduce(results, std::plus<>{});
    barrier();
    EXPECT_EQ(all_reduce(began, std::plus<>{}), all_results) << "who did not begin has no result, who began has one";
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, completions, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
