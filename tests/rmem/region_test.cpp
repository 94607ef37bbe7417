// Remote memory as ordinary pointers.
#include "rmem/servers.h"
#include "rmem/user_faults.h"

#include <situ/rmem/region.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory_resource>
#include <optional>
#include <random>
#include <tuple>

using namespace situ_rmem_test;
using rmem::fetcher;
using rmem::prefetch;
using rmem::region;
using rmem::region_options;
using rmem::replacement;
using rmem::detail::kernel;

#if defined(__SANITIZE_ADDRESS__)
// It gives handlers a stack of 32 KiB, of which one that serves a touch takes 28 where it is instrumented.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "use_sigaltstack=0"; }
#endif

namespace {

constexpr std::uint64_t page = 4096;
#if defined(__SANITIZE_THREAD__)
constexpr int share = 4;  // of what is done otherwise, for a tenth of the speed
#else
constexpr int share = 1;
#endif

class rmem_region : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    try {
      rmem::detail::user_faults{};
    } catch (const situ::error& refused) {
      why_not = refused.what();
    }
  }
  void SetUp() override {
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }
  [[nodiscard]] region region_of(const capability& of, const region_options& options) const {
    return region{client{server->endpoint(), packages(), {.timeout = 20s}}, of, options};
  }
  [[nodiscard]] std::vector<std::byte> at_the_server(const capability& of) {
    std::vector<std::byte> got(of.bytes);
    one.read(of, 0, got);
    return got;
  }
  std::optional<running_server> server{std::in_place, 64 * mebibyte};
  client one{server->endpoint(), packages(), {.timeout = 20s}};
  static inline std::string why_not;
};

// --- by all ways of replacing and of fetching ahead ---

struct manner {
  replacement replace;
  prefetch ahead;
  bool is_sole_writer;
  kernel on = kernel::this_one;
  fetcher fetches = fetcher::own_thread;
};

class rmem_region_manners : public rmem_region, public testing::WithParamInterface<manner> {
 protected:
  void SetUp() override {
    rmem_region::SetUp();
    rmem::detail::pretended_kernel = GetParam().on;
  }
  ~rmem_region_manners() override { rmem::detail::pretended_kernel = kernel::this_one; }
  [[nodiscard]] region_options options(std::uint64_t pages) const {
    return {.local_bytes = pages * page,
            .replace = GetParam().replace,
            .ahead = GetParam().ahead,
            .prefetch_pages = 8,
            .is_sole_writer = GetParam().is_sole_writer,
            .fetches = GetParam().fetches};
  }
};

TEST_P(rmem_region_manners, holds_what_a_vector_would) {
  constexpr std::uint64_t size = 300 * page + 100;  // the last page is not whole
  const capability mine = one.allocate(size + 10).part(5, size);
  std::vector<std::byte> expected = pattern(size);
  one.write(mine, 0, expected);
  region far = region_of(mine, options(40));
  std::mt19937_64 random{7};
  const std::span<std::byte> bytes = far.bytes();
  for (int round = 0; round < 32 / share; ++round) {
    for (int i = 0; i < 40; ++i) {  // here and there, some of it again and again
      const std::uint64_t at = i % 4 == 0 ? random() % (10 * page) : random() % size;
      ASSERT_EQ(bytes[at], expected[at]) << at;
      if (i % 2 == 0) expected[at] = bytes[at] = static_cast<std::byte>(random());
    }
    const std::uint64_t begin = random() % (size - 20 * page);
    for (std::uint64_t at = begin; at < begin + 20 * page; at += 100) ASSERT_EQ(bytes[at], expected[at]) << at;
    const std::uint64_t distance = (1 + random() % 3) * page;
    for (std::uint64_t at = 0; at < size; at += distance) ASSERT_EQ(bytes[at], expected[at]) << at;
    ASSERT_LE(far.counted().local_bytes, 40 * page);
    if (round % 8 == 3) far.write_back();
    if (round % 8 == 7) far.refresh();
    if (round % 4 == 3) {
      ASSERT_EQ(at_the_server(mine), expected);
    }
  }
  far.write_back();
  EXPECT_EQ(at_the_server(mine), expected);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin()));
  const rmem::region_statistics counted = far.counted();
  EXPECT_GT(counted.evicted_pages, 100U);
  EXPECT_GT(counted.missing, 100U);
  EXPECT_EQ(counted.prefetched_pages > 0, GetParam().ahead != prefetch::none);
}

// Threads that change words of their own in pages that all of them change, where most of what they touch is elsewhere.
TEST_P(rmem_region_manners, loses_no_write_of_threads) {
  constexpr unsigned threads = 4;
  constexpr unsigned pages = 64;
  constexpr unsigned words = 8;  // of a page; each thread's turn among them
  const capability mine = one.allocate(pages * page);
  region far = region_of(mine, options(20));
  auto* const all = reinterpret_cast<std::uint32_t*>(far.data());
  std::vector<std::vector<std::uint32_t>> added(threads, std::vector<std::uint32_t>(pages * words));
  {
    std::vector<std::jthread> running;
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        std::mt19937 random{t};
        for (int i = 0; i < 1000 / share; ++i) {
          const unsigned which = random() % (pages * words);
          all[which / words * (page / 4) + which % words * 32 + t] += 1;
          added[t][which] += 1;
        }
      });
    for (int i = 0; i < 20; ++i) i % 2 == 0 ? far.write_back() : far.refresh();
  }
  far.refresh();
  for (unsigned t = 0; t < threads; ++t)
    for (unsigned which = 0; which < pages * words; ++which)
      ASSERT_EQ(all[which / words * (page / 4) + which % words * 32 + t], added[t][which]) << t << ' ' << which;
}

std::string name_of(const testing::TestParamInfo<manner>& info) {
  constexpr const char* replaces[] = {"fifo", "aging", "clock", "s3_fifo"};
  constexpr const char* aheads[] = {"none", "next", "stride", "majority"};
  return std::string{replaces[static_cast<int>(info.param.replace)]} + "_" +
         aheads[static_cast<int>(info.param.ahead)] + (info.param.is_sole_writer ? "_sole_writer" : "") +
         std::array{"", "_before_6_8", "_before_6_4"}[static_cast<std::size_t>(info.param.on)] +
         (info.param.fetches == fetcher::toucher ? "_by_who_touches" : "");
}
INSTANTIATE_TEST_SUITE_P(
    , rmem_region_manners,
    testing::Values(manner{replacement::fifo, prefetch::none, false}, manner{replacement::fifo, prefetch::next, true},
                    manner{replacement::aging, prefetch::stride, false},
                    manner{replacement::clock, prefetch::majority, false},
                    manner{replacement::clock, prefetch::none, true},
                    manner{replacement::clock, prefetch::next, false, kernel::before_6_4},
                    manner{replacement::clock, prefetch::majority, false, kernel::before_6_8},
                    manner{replacement::s3_fifo, prefetch::majority, false},
                    manner{replacement::s3_fifo, prefetch::stride, true, kernel::before_6_4},
                    manner{replacement::s3_fifo, prefetch::none, true, kernel::before_6_8},
                    manner{replacement::s3_fifo, prefetch::majority, false, kernel::this_one, fetcher::toucher},
                    manner{replacement::clock, prefetch::next, true, kernel::this_one, fetcher::toucher},
                    manner{replacement::aging, prefetch::none, false, kernel::before_6_8, fetcher::toucher},
                    manner{replacement::fifo, prefetch::stride, false, kernel::before_6_4, fetcher::toucher}),
    name_of);

// --- whoever fetches ---

class rmem_region_by : public rmem_region, public testing::WithParamInterface<fetcher> {
 protected:
  [[nodiscard]] region region_of(const capability& of, region_options options) const {
    options.fetches = GetParam();
    return rmem_region::region_of(of, options);
  }
};
INSTANTIATE_TEST_SUITE_P(, rmem_region_by, testing::Values(fetcher::own_thread, fetcher::toucher),
                         [](const auto& info) {
                           return info.param == fetcher::toucher ? "who_touches" : "its_thread";
                         });

// --- several at once ---

TEST_F(rmem_region, two_that_change_different_bytes_of_a_page_lose_none) {
  const capability mine = one.allocate(32 * page);
  region a = region_of(mine, {.local_bytes = 80 * page});
  region b = region_of(mine, {.local_bytes = 80 * page});
  for (std::uint64_t at = 0; at < mine.bytes; at += 2) {
    a.data()[at] = std::byte{1};
    b.data()[at + 1] = std::byte{2};
  }
  a.write_back();
  b.write_back();
  a.refresh();
  for (std::uint64_t at = 0; at < mine.bytes; at += 2) {
    ASSERT_EQ(a.data()[at], std::byte{1});
    ASSERT_EQ(a.data()[at + 1], std::byte{2});
  }
  EXPECT_EQ(a.counted().written_bytes, mine.bytes / 2);
}

TEST_P(rmem_region_by, what_is_released_there_is_acquired_here) {
  const capability mine = one.allocate(4 * page);
  region a = region_of(mine, {.local_bytes = 16 * page});
  region b = region_of(mine, {.local_bytes = 16 * page});
  EXPECT_EQ(b.data()[page], std::byte{0});
  a.data()[page] = std::byte{7};
  EXPECT_EQ(b.data()[page], std::byte{0});
  a.write_back();
  EXPECT_EQ(b.data()[page], std::byte{0});  // it has the page
  b.refresh();
  EXPECT_EQ(b.data()[page], std::byte{7});
}

// What the server has been asked for ahead is as old as that.
TEST_P(rmem_region_by, what_is_coming_is_not_older_than_a_refresh) {
  const capability mine = one.allocate(1200 * page);
  const std::vector<std::byte> before = pattern(mine.bytes);
  one.write(mine, 0, before);
  region far = region_of(mine, {.local_bytes = 500 * page, .prefetch_pages = 64});
  std::vector<std::byte> after = before;
  for (std::byte& each : after) each ^= std::byte{0xff};
  const auto touch = [&](std::uint64_t begin, std::uint64_t end, const std::vector<std::byte>& there) {
    for (std::uint64_t at = begin; at < end; ++at) ASSERT_EQ(far.data()[at * page], there[at * page]) << at;
  };
  for (std::uint64_t last = 200; last < 1000; last += 200) {
    const bool is_odd = last / 200 % 2 == 1;
    touch(0, last, is_odd ? before : after);
    one.write(mine, 0, is_odd ? after : before);
    far.refresh();
    touch(last, last + 150, is_odd ? after : before);  // where the stream was about to go
  }
}

// A run of which some pages are here already is not asked for beforehand, but when its mark is touched.
TEST_P(rmem_region_by, a_stream_goes_on_past_pages_that_are_here) {
  const capability mine = one.allocate(2000 * page);
  region far = region_of(mine, {.local_bytes = 2200 * page, .prefetch_pages = 32});
  for (std::uint64_t at = 100; at < 2000; at += 50) far.fetch(at * page, page).get();
  for (std::uint64_t at = 0; at < far.size(); at += page) (void)*static_cast<volatile std::byte*>(far.data() + at);
  EXPECT_LT(far.counted().missing, GetParam() == fetcher::toucher ? 70U : 20U);
}

// Streams that take turns, and one whose pages somebody fetches by the way: what has been asked for ahead is of one of
// them, and what was changed meanwhile stays so.
TEST_P(rmem_region_by, streams_take_turns) {
  constexpr std::uint64_t pages = 3000;
  const capability mine = one.allocate(pages * page);
  std::vector<std::byte> expected = pattern(mine.bytes);
  one.write(mine, 0, expected);
  region far = region_of(mine, {.local_bytes = 400 * page, .prefetch_pages = 32});
  std::mt19937 random{7};
  std::array<std::uint64_t, 3> streams{0, 1000, 2000};
  for (int turn = 0; turn < 300; ++turn) {
    std::uint64_t& at = streams[random() % 3];
    for (unsigned i = random() % 60; i > 0; --i, at = (at + 1) % pages) {
      ASSERT_EQ(far.data()[at * page + 7], expected[at * page + 7]) << at;
      if (random() % 4 == 0) expected[at * page + 7] = far.data()[at * page + 7] = static_cast<std::byte>(random());
    }
    const std::uint64_t ahead = (at + random() % 80) % pages;  // within what is coming
    ASSERT_EQ(far.data()[ahead * page + 9], expected[ahead * page + 9]) << ahead;
    expected[ahead * page + 9] = far.data()[ahead * page + 9] = static_cast<std::byte>(random());
  }
  far.write_back();
  EXPECT_EQ(at_the_server(mine), expected);
}

// The memory of a page goes back to the system with what was changed; what comes is the server's.
TEST_P(rmem_region_by, pages_that_are_given_back_are_fetched_again) {
  const capability mine = one.allocate(64 * page);
  const std::vector<std::byte> there = pattern(mine.bytes);
  one.write(mine, 0, there);
  region far = region_of(mine, {.local_bytes = 32 * page});
  for (std::uint64_t at = 0; at < 3 * far.size(); at += page) {
    const std::uint64_t which = at % far.size();
    ASSERT_EQ(far.data()[which + 1], there[which + 1]);
    ASSERT_EQ(::madvise(far.data() + which, page, MADV_DONTNEED), 0);
    ASSERT_EQ(far.data()[which + 2], there[which + 2]);
  }
}

// Changed, given back, and never touched again: others take their place, and what is asked for passes them over.
TEST_P(rmem_region_by, changes_that_are_given_back_are_gone) {
  const capability mine = one.allocate(128 * page);
  const std::vector<std::byte> there = pattern(mine.bytes);
  one.write(mine, 0, there);
  region far = region_of(mine, {.local_bytes = 32 * page});
  const auto change = [&](std::uint64_t which) {
    far.data()[which * page + 5] = ~there[which * page + 5];
    ASSERT_EQ(::madvise(far.data() + which * page, page, MADV_DONTNEED), 0);
  };
  for (std::uint64_t which = 0; which < 128; which += 2) change(which);
  for (std::uint64_t which = 0; which < 8; ++which) change(which);
  far.write_back();
  EXPECT_EQ(at_the_server(mine), there);
  for (std::uint64_t which = 0; which < 8; ++which) change(which);
  const rmem::pinned kept = far.pin(0, 6 * page);
  EXPECT_TRUE(std::equal(there.begin(), there.begin() + 6 * page, far.data()));
  far.fetch(6 * page, 2 * page).get();
  EXPECT_TRUE(std::equal(there.begin() + 6 * page, there.begin() + 8 * page, far.data() + 6 * page));
}

TEST_F(rmem_region, system_calls_are_told_of_absent_pages_where_who_touches_fetches) {
  const capability mine = one.allocate(64 * page);
  region far = region_of(mine, {.local_bytes = 32 * page, .fetches = fetcher::toucher});
  const os::pipe_ends ends = os::pipe_ends::make();
  ASSERT_TRUE(ends);
  EXPECT_EQ(::write(ends.write.number(), far.data() + 5 * page, 16), -1);
  EXPECT_EQ(errno, EFAULT);
  far.fetch(5 * page, page).get();
  EXPECT_EQ(::write(ends.write.number(), far.data() + 5 * page, 16), 16);
}

// --- pages that stay ---

TEST_F(rmem_region, pinned_bytes_are_for_system_calls) {
  const capability mine = one.allocate(200 * page);
  region far = region_of(mine, {.local_bytes = 64 * page});
  const os::pipe_ends ends = os::pipe_ends::make();
  ASSERT_TRUE(ends);
  {
    const rmem::pinned kept = far.pin(10 * page, 8 * page);
    EXPECT_TRUE(far.is_here(10 * page, 8 * page));
    const std::vector<std::byte> sent = pattern(8 * page);
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(::write(ends.write.number(), sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
      ASSERT_EQ(::read(ends.read.number(), far.data() + 10 * page, sent.size()), static_cast<ssize_t>(sent.size()));
      for (std::uint64_t at = 0; at < far.size(); at += page) far.data()[at] = far.data()[at];
      EXPECT_TRUE(far.is_here(10 * page, 8 * page));
      far.write_back();
      std::vector<std::byte> got(sent.size());
      one.read(mine, 10 * page, got);
      EXPECT_EQ(got, sent);
      far.data()[10 * page] = std::byte{0};  // so the second round differs from what was written
      far.write_back();
    }
    expect_refused(
        errc::out_of_memory, [&] { (void)far.pin(100 * page, 30 * page); },
        "budget is 64 pages, 8 are pinned, and 30 more");
  }
  for (std::uint64_t at = 0; at < far.size(); at += page) (void)*static_cast<volatile std::byte*>(far.data() + at);
  EXPECT_FALSE(far.is_here(10 * page, 8 * page));
}

TEST_P(rmem_region_by, bytes_are_fetched_meanwhile) {
  const capability mine = one.allocate(100 * page);
  one.write(mine, 0, pattern(100 * page));
  region far = region_of(mine, {.local_bytes = 64 * page});
  EXPECT_FALSE(far.is_here(50 * page, 1));
  std::future<void> coming = far.fetch(50 * page + 1, 20 * page);
  coming.get();
  EXPECT_TRUE(far.is_here(50 * page, 21 * page));
  EXPECT_EQ(far.counted().missing, 0U);
  EXPECT_EQ(far.data()[60 * page], pattern(100 * page)[60 * page]);
  EXPECT_EQ(far.counted().missing, 0U);
  far.fetch(0, 0).get();
}

// Of what system calls and threads write there meanwhile nothing is told.
TEST_F(rmem_region, pinned_bytes_may_change_while_they_are_written_back) {
  constexpr std::uint64_t words = 4 * page / 8;
  const capability mine = one.allocate(100 * page);
  region far = region_of(mine, {.local_bytes = 64 * page});
  const rmem::pinned kept = far.pin(0, 4 * page);
  auto* const all = reinterpret_cast<std::uint64_t*>(far.data());
  for (int round = 0; round < 10; ++round) {
    {
      std::jthread writer{[&] {
        std::mt19937 random{1};
        for (int i = 0; i < 20'000 / share; ++i) std::atomic_ref{all[random() % words]} += 1;
      }};
      for (int i = 0; i < 20; ++i) far.write_back();
    }
    far.write_back();
    std::vector<std::byte> got(4 * page);
    one.read(mine, 0, got);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), far.data())) << round;
  }
}

TEST_F(rmem_region, an_allocator_may_have_it) {
  const capability mine = one.allocate(100 * page);
  region far = region_of(mine, {.local_bytes = 16 * page});
  std::pmr::monotonic_buffer_resource arena{far.data(), far.size(), std::pmr::null_memory_resource()};
  std::pmr::vector<int> numbers{&arena};
  numbers.reserve(50'000);
  for (int i = 0; i < 50'000; ++i) numbers.push_back(i);
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
}

TEST_F(rmem_region, who_asked_is_told_when_bytes_have_been_fetched) {
  std::promise<void> told;
  const auto wake = [&](std::exception_ptr failed) {
    if (failed != nullptr)
      told.set_exception(std::move(failed));
    else
      told.set_value();
  };
  const capability mine = one.allocate(100 * page);
  region far = region_of(mine, {.local_bytes = 64 * page});
  far.fetch(5 * page, 10 * page, wake);
  ASSERT_EQ(told.get_future().wait_for(20s), std::future_status::ready);
  EXPECT_TRUE(far.is_here(5 * page, 10 * page));
  EXPECT_EQ(far.counted().missing, 0U);
  told = {};
  one.free(mine);
  far.fetch(30 * page, page, wake);
  expect_refused(errc::access_denied, [&] { told.get_future().get(); });
  expect_refused(errc::bad_argument, [&] { far.fetch(far.size(), 1, wake); });
}

// --- what is fetched together ---

TEST_P(rmem_region_by, pages_in_order_need_few_fetches) {
  const capability mine = one.allocate(1000 * page);
  region far = region_of(mine, {.local_bytes = 300 * page});
  for (std::uint64_t at = 0; at < far.size(); at += page) (void)*static_cast<volatile std::byte*>(far.data() + at);
  const rmem::region_statistics counted = far.counted();
  EXPECT_EQ(counted.fetched_pages, 1000U);
  // Who touches itself goes on past a mark, and may come to the end of the run before the next one does.
  EXPECT_LT(counted.missing, GetParam() == fetcher::toucher ? 60U : 10U);
  EXPECT_LT(counted.seen, 60U);
}

TEST_P(rmem_region_by, pages_at_a_distance_need_few_fetches) {
  const capability mine = one.allocate(3000 * page);
  region far = region_of(mine, {.local_bytes = 300 * page, .prefetch_pages = 32});
  for (std::uint64_t at = 0; at < far.size(); at += 3 * page) (void)*static_cast<volatile std::byte*>(far.data() + at);
  const rmem::region_statistics counted = far.counted();
  EXPECT_LT(counted.fetched_pages, 1100U);
  EXPECT_LT(counted.missing, GetParam() == fetcher::toucher ? 100U : 20U);
}

TEST_P(rmem_region_by, pinned_pages_that_are_given_back_are_no_more_pinned) {
  const capability mine = one.allocate(64 * page);
  region far = region_of(mine, {.local_bytes = 32 * page});
  for (int round = 0; round < 20; ++round) {  // more than the budget, were they counted
    const rmem::pinned kept = far.pin(8 * page, 2 * page);
    ASSERT_EQ(::madvise(far.data() + 8 * page, page, MADV_DONTNEED), 0);
    ASSERT_EQ(far.data()[8 * page], std::byte{0});
  }
}

// --- when it goes wrong ---

TEST_P(rmem_region_by, a_page_that_cannot_be_fetched_is_an_error_where_it_is_guarded) {
  const capability mine = one.allocate(100 * page);
  const capability lent = one.grant(mine, 0, mine.bytes, rights::read | rights::write);
  region far = region_of(lent, {.local_bytes = 16 * page});
  far.data()[3 * page] = std::byte{5};
  int done = 0;
  rmem::guarded([&] { done += static_cast<int>(far.data()[3 * page]); });
  EXPECT_EQ(done, 5);
  one.revoke(lent);
  for (int i = 0; i < 3; ++i)  // and the process is as it was
    expect_refused(
        errc::access_denied, [&] { rmem::guarded([&] { far.data()[50 * page + 1] = std::byte{1}; }); },
        "byte 204800 of the region at");
  EXPECT_EQ(far.data()[3 * page], std::byte{5});  // what is here can still be used
  struct mine_too {};
  EXPECT_THROW(rmem::guarded([] { throw mine_too{}; }), mine_too);
  expect_refused(errc::access_denied, [&] { far.write_back(); });
}

TEST_P(rmem_region_by, a_server_that_is_gone_is_an_error_where_it_is_guarded) {
  const capability mine = one.allocate(100 * page);
  region far = region_of(mine, {.local_bytes = 16 * page});
  server->stop();
  expect_refused(
      errc::link_lost, [&] { rmem::guarded([&] { (void)*static_cast<volatile std::byte*>(far.data()); }); },
      "of server 0) cannot be touched");
}

TEST_P(rmem_region_by, an_unguarded_touch_ends_the_process_with_the_same_words) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const capability mine = one.allocate(100 * page);
        region far = region_of(mine, {.local_bytes = 16 * page});
        server->stop();
        far.data()[8192] = std::byte{1};
      },
      "situ: remote memory at 0x[0-9a-f]+ \\(byte 8192 of the region at 0x[0-9a-f]+ of server 0\\) cannot be touched");
}

TEST_F(rmem_region, options_outside_their_domain_are_refused) {
  const capability mine = one.allocate(100 * page);
  expect_refused(errc::bad_argument, [&] { (void)region_of(mine, {.local_bytes = 15 * page}); }, "16 pages");
  expect_refused(errc::bad_argument, [&] { (void)region_of(mine, {.local_bytes = 64 * page, .prefetch_pages = 0}); });
  const capability written = one.grant(mine, 0, page, rights::write);
  expect_refused(errc::access_denied, [&] { (void)region_of(written, {.local_bytes = 64 * page}); }, "right to read");
  region far = region_of(mine, {.local_bytes = 64 * page});
  expect_refused(errc::bad_argument, [&] { (void)far.pin(99 * page, 2 * page); }, "not within a region");
  EXPECT_FALSE(far.is_here(99 * page, 2 * page));
}

TEST_P(rmem_region_by, without_the_right_to_write_it_is_only_read) {
  const capability mine = one.allocate(20 * page);
  one.write(mine, 0, pattern(20 * page));
  const capability lent = one.grant(mine, 0, mine.bytes, rights::read);
  region far = region_of(lent, {.local_bytes = 16 * page});
  EXPECT_TRUE(std::equal(far.bytes().begin(), far.bytes().end(), pattern(20 * page).begin()));
  const rmem::pinned kept = far.pin(0, 4 * page);
  far.write_back();
  EXPECT_EQ(far.counted().written_pages, 0U);
}

}  // namespace
