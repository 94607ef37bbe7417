// Operations on memory of other hosts, within one process: who does them, how who asks waits, and what is refused.
#include "cluster/pretended_hosts.h"

#include <situ/situ.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/racing_reads.h"
#include "fabric/observe.h"
#include "os/bytes.h"
#include "os/host.h"
#include "support/places.h"

namespace situ {
namespace {

using namespace std::chrono_literals;
using detail::cluster::answer_head;
using detail::cluster::far_operation;
using detail::cluster::operation_head;
using detail::cluster::wire_message;
using detail::cluster::wire_peer;
using test::error_of;
using test::launch_on;
using test::pattern;
using test::pretended_hosts;
using test::test_network;
using test::test_seed;
using test::with_sanitizer;

constexpr std::size_t block_bytes = std::size_t{3} << 20;

// Two places of two hosts, and the body at the first. The other waits, and does what it is asked.
class hosts : public testing::Test {
 protected:
  struct at_first {
    pretended_hosts& all;
    detail::cluster::far_place& far;
    ptr<std::byte> there;  // block_bytes of the other place
  };
  template <class Body>
  void run(Body body, std::chrono::microseconds most_delay = 50us, launch_options options = {}) {
    const test::layout two{launch_mode::threads, 2};
    pretended_hosts all{2, 2, {.seed = test_seed(), .most_delay = most_delay}};
    const launch_result result = launch_on(
        two,
        [&] {
          pretended_hosts::membership member{all};
          const auto blocks = all_gather(allocate<std::byte>(block_bytes));
          if (here().index() == 0) body(at_first{all, member.far(), blocks[1]});
          barrier();
          deallocate(blocks[here().index()]);
        },
        std::move(options));
    EXPECT_TRUE(result.ok()) << result.message();
    all.server(0).stop();
    all.server(1).stop();
    done = all.server(1).count().done;
    denied = all.server(1).count().denied;
    dropped = all.server(1).count().dropped;
    done_at_first = all.server(0).count().done;
  }
  std::uint64_t done = 0, denied = 0, dropped = 0, done_at_first = 0;  // by the servers
};

[[nodiscard]] ptr<long> longs_at(ptr<std::byte> bytes) { return ptr<long>{reinterpret_cast<long*>(bytes.local())}; }

TEST_F(hosts, each_operation_is_one_of_the_other_hosts_server) {
  run([](const at_first& at) {
    const ptr<long> there = longs_at(at.there);
    put(there, 5L);
    EXPECT_EQ(get(there), 5);
    EXPECT_EQ(atomic_fetch_add(there, 2L), 5);
    put_signal(there + 1, 8L, there, 9);
    EXPECT_EQ(get(there + 1), 8);
    EXPECT_EQ(get(there), 9);
    const ptr<long> mine = allocate<long>();
    put(mine, 1L);
    atomic_fetch_add(mine, 1L);
    deallocate(mine);
  });
  EXPECT_EQ(done, 6U);
  EXPECT_EQ(done_at_first, 0U);
  EXPECT_EQ(denied + dropped, 0U);
}

TEST_F(hosts, long_operations_are_cut_and_come_whole) {
  run([](const at_first& at) {
    const std::vector<std::byte> sent = pattern(block_bytes - 7, 3);
    put(at.there + 7, sent.data(), sent.size());
    std::vector<std::byte> got(sent.size());
    get(got.data(), at.there + 7, got.size());
    EXPECT_EQ(got, sent);
    const ptr<std::byte> mine = allocate<std::byte>(block_bytes);
    copy(mine, ptr<const std::byte>{at.there}, block_bytes);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), mine.local() + 7));
    deallocate(mine);
  });
  EXPECT_EQ(done, 3 * block_bytes / detail::cluster::most_piece_bytes);  // three of 3 MiB
}

TEST_F(hosts, a_long_put_that_does_not_fit_writes_nothing) {
  run([](const at_first& at) {
    const std::vector<std::byte> sent(block_bytes, std::byte{1});
    const std::byte before = get(at.there);
    const auto open = static_cast<std::ptrdiff_t>(detail::current->job->slot(1).extent.load());
    const ptr<std::byte> end{reinterpret_cast<std::byte*>(detail::current->base + detail::current->slice_mask + 1 +
                                                          detail::current->heap_offset) +
                             open};
    const ptr<std::byte> begin = end + -static_cast<std::ptrdiff_t>(block_bytes / 2);
    const std::byte first = get(begin);
    const auto e = error_of([&] { put(begin, sent.data(), sent.size()); });
    EXPECT_EQ(e.code, errc::bad_address);
    EXPECT_TRUE(e.says("outside the open part of place 1's segment")) << e.text;
    EXPECT_EQ(get(begin), first);
    EXPECT_EQ(get(at.there), before);
  });
  EXPECT_EQ(denied, 16U);  // all pieces that were under way at once, for themselves or for what comes after them
}

TEST_F(hosts, boxes_are_cut_whatever_their_shape) {
  run([](const at_first& at) {
    const ptr<std::uint32_t> there{reinterpret_cast<std::uint32_t*>(at.there.local())};
    const auto check = [&]<std::size_t N>(const std::array<std::size_t, N>& extents,
                                          const std::array<std::ptrdiff_t, N>& far_strides, std::ptrdiff_t origin) {
      std::array<std::ptrdiff_t, N> dense;
      std::size_t count = 1;
      for (std::size_t d = N; d-- > 0;) {
        dense[d] = static_cast<std::ptrdiff_t>(count);
        count *= extents[d];
      }
      std::vector<std::uint32_t> sent(count);
      std::iota(sent.begin(), sent.end(), 1);
      std::vector<std::uint32_t> got(count);
      put_strided<std::uint32_t, N>(there + origin, far_strides, sent.data(), dense, extents);
      get_strided<std::uint32_t, N>(got.data(), dense, there + origin, far_strides, extents);
      EXPECT_EQ(got, sent);
      // The other place has them where they belong.
      std::ptrdiff_t at_last = origin;
      for (std::size_t d = 0; d < N; ++d) at_last += static_cast<std::ptrdiff_t>(extents[d] - 1) * far_strides[d];
      EXPECT_EQ(get(there + at_last), sent.back());
    };
    check(std::array<std::size_t, 2>{300, 200}, std::array<std::ptrdiff_t, 2>{-500, 2}, 400'000);
    check(std::array<std::size_t, 3>{7, 90, 80}, std::array<std::ptrdiff_t, 3>{10'000, 100, 1}, 3);
    check(std::array<std::size_t, 1>{50'000}, std::array<std::ptrdiff_t, 1>{3}, 0);
    check(std::array<std::size_t, 1>{50'000}, std::array<std::ptrdiff_t, 1>{1}, 5);
    std::array<std::size_t, 18> many;
    many.fill(1);
    many[0] = 2;
    many[17] = 3;
    std::array<std::ptrdiff_t, 18> steps;
    steps.fill(1);
    steps[0] = 100;
    check(many, steps, 9);

    struct large {
      std::array<std::byte, 100'000> bytes;
    };
    const std::vector<large> sent(3, large{{std::byte{4}}});
    std::vector<large> got(3);
    const ptr<large> far{reinterpret_cast<large*>(at.there.local())};
    put_strided<large, 1>(far, {2}, sent.data(), {1}, {3});
    get_strided<large, 1>(got.data(), {1}, far, {2}, {3});
    EXPECT_EQ(std::memcmp(got.data(), sent.data(), 3 * sizeof(large)), 0);
  });
  EXPECT_EQ(denied + dropped, 0U);
}

TEST_F(hosts, others_go_on_while_a_task_waits) {
  run(
      [](const at_first& at) {
        const ptr<long> there = longs_at(at.there);
        std::vector<future<long>> all;
        for (long i = 0; i < 40; ++i)
          all.push_back(async([there, i] {
            put(there + i, i);
            return get(there + i) + get(there + i);
          }));
        long most = 0;
        for (long i = 0; i < 40; ++i) most += all[static_cast<std::size_t>(i)].get() == 2 * i ? 1 : 0;
        EXPECT_EQ(most, 40);
      },
      2000us);
  EXPECT_EQ(done, 120U);
}

TEST_F(hosts, more_tasks_may_ask_than_there_are_entries) {
  run([](const at_first& at) {
    const ptr<long> sum = longs_at(at.there);
    put(sum, 0L);
    std::vector<future<>> all;
    const int tasks = with_sanitizer ? 1100 : 1500;
    for (int i = 0; i < tasks; ++i) all.push_back(async([sum] { atomic_fetch_add(sum, 1L); }));
    for (future<>& each : all) each.get();
    EXPECT_EQ(get(sum), tasks);
  });
}

TEST_F(hosts, handlers_may_ask_and_a_signal_wakes_who_awaits_it) {
  run([](const at_first& at) {
    // The answer's buffer is fetched in a handler, and given back.
    const std::vector<int> sent(300'000, 7);
    EXPECT_EQ(at.there.place().index(), 1U);
    EXPECT_EQ(situ::at(place{1}, [](std::vector<int> v) { return v; }, sent), sent);

    const ptr<std::uint64_t> word = situ::at(place{1}, [] { return situ::word(allocate_signals()); });
    future<long> seen = async_at(place{1}, [word, there = longs_at(at.there)] {
      wait_until(word, 3U);
      return *there.local();
    });
    put_signal(longs_at(at.there), 12L, word, 3);
    EXPECT_EQ(seen.get(), 12);
    deallocate(ptr<signal>{reinterpret_cast<signal*>(word.local())});
  });
  EXPECT_EQ(denied, 0U);
}

TEST_F(hosts, blocks_that_are_given_back_come_home) {
  run([](const at_first& at) {
    const std::uint64_t before = situ::at(place{1}, [] { return memory_statistics().live_blocks; });
    std::vector<ptr<long>> made = situ::at(place{1}, [] {
      std::vector<ptr<long>> all;
      for (int i = 0; i < 3000; ++i) all.push_back(allocate<long>(10));
      return all;
    });
    for (const ptr<long> each : made) deallocate(each);
    deallocate(made[0]);  // once more: logged, since nobody waits
    while (situ::at(place{1}, [] { return memory_statistics().live_blocks; }) != before) at.far.poll();
  });
  EXPECT_EQ(denied, 1U);
}

TEST_F(hosts, registered_threads_ask_as_well) {
  run([](const at_first& at) {
    const ptr<long> sum = longs_at(at.there);
    put(sum, 0L);
    place_threads threads;
    for (int i = 0; i < 3; ++i)
      threads.start([sum] {
        for (int k = 0; k < 50; ++k) atomic_fetch_add(sum, 1L);
      });
    for (int k = 0; k < 50; ++k) atomic_fetch_add(sum, 1L);
    threads.join();
    EXPECT_EQ(get(sum), 200);
  });
}

TEST_F(hosts, what_is_lost_with_a_host_is_told) {
  run([](const at_first& at) {
    const ptr<long> there = longs_at(at.there);
    put(there, 1L);
    at.all.network().cut(at.all.end_of_server(1));
    future<long> cut_off = async([there] { return get(there); });
    (void)async([&far = at.far] { far.lose_host(1, "the link is cut"); });
    const auto e = error_of([&] { (void)cut_off.get(); });
    EXPECT_EQ(e.code, errc::place_lost);
    EXPECT_TRUE(e.says("the link is cut")) << e.text;
    EXPECT_EQ(error_of([&] { put(there, 2L); }).code, errc::place_lost);
    deallocate(there);  // goes with the host
  });
}

// --- What an observed place shows

// Of place 1 by its server, and of nobody else.
TEST_F(hosts, what_an_observed_place_shows_is_read_by_its_server) {
  run(
      [](const at_first& at) {
        using detail::shown_part;
        put(at.there, std::byte{1});
        detail::job_control& job = *detail::current->job;
        for (const shown_part part : {shown_part::row, shown_part::names, shown_part::placed}) {
          const std::span<const std::byte> there = detail::shown_bytes(job, 1, part);
          std::vector<std::byte> got(std::min(there.size(), block_bytes) - 5);
          // The other place waits, but may not have come to that yet.
          bool is_same = false;
          for (int i = 0; i < 1000 && !is_same; ++i) {
            at.far.look_at(1, part, 5, got);
            const detail::racing_reads of_names;
            is_same = part == shown_part::row || std::equal(got.begin(), got.end(), there.begin() + 5);
          }
          EXPECT_TRUE(is_same);
          const auto beyond = error_of([&] { at.far.look_at(1, part, there.size() - 4, std::span{got}.first(5)); });
          EXPECT_EQ(beyond.code, errc::bad_address);
        }
        std::vector<std::byte> first(sizeof(detail::row_header) + 2 * sizeof(detail::pair_counts));
        at.far.look_at(1, shown_part::row, 0, first);
        detail::pair_counts counts;
        std::memcpy(&counts, first.data() + sizeof(detail::row_header), sizeof counts);
        EXPECT_EQ(counts.messages, detail::counts_of_place(job, 1)[0].messages);
        EXPECT_NE(counts.messages, 0U);  // of the collective
        const auto no_part = error_of([&] { at.far.look_at(1, shown_part{3}, 0, first); });
        EXPECT_EQ(no_part.code, errc::bad_address);
      },
      50us, {.stats = true});
  EXPECT_EQ(denied, 4U);
}

TEST_F(hosts, a_job_that_counts_nothing_shows_nothing) {
  run([](const at_first& at) {
    std::array<std::byte, 8> got;
    EXPECT_EQ(error_of([&] { at.far.look_at(1, detail::shown_part::names, 0, got); }).code, errc::bad_message);
  });
}

TEST_F(hosts, a_server_says_its_time) {
  run([](const at_first& at) {
    const std::uint64_t before = detail::steady_ns();
    const std::uint64_t there = at.far.time_at(1);
    EXPECT_GE(there, before);
    EXPECT_LE(there, detail::steady_ns());
  });
}

// --- Hostile bytes
// -----------------------------------------------------------------------------------------------------

// What goes to the server as if place 0 had sent it. The answers come to place 0, which waits for none of them.
struct forger {
  test_network& network;
  wire_peer server;
  void send(std::span<const std::byte> head, std::span<const std::byte> data = {}) const {
    network.send_as(0, server, wire_message::operation, head, data);
  }
  void send(const operation_head& head, std::span<const std::byte> data = {}) const { send(os::bytes_of(head), data); }
};

TEST_F(hosts, operations_that_are_none_are_denied_and_counted) {
  std::uint64_t expected = 0;
  std::uint64_t nobodys = 0;
  run([&](const at_first& at) {
    const ptr<long> there = longs_at(at.there);
    put(there, 77L);
    const forger as{at.all.network(), at.all.end_of_server(1)};
    const std::uintptr_t address = there.address();
    const std::array<std::byte, 16> data{};
    const auto denied_is = [&](operation_head head, std::size_t bytes = 0) {
      ++expected;
      as.send(head, std::span{data}.first(bytes));
    };
    const auto of = [&](far_operation what, std::uintptr_t where, std::uint64_t bytes) {
      operation_head head{.what = static_cast<std::uint8_t>(what)};
      head.address = where;
      head.bytes = bytes;
      return head;
    };
    denied_is(of(static_cast<far_operation>(detail::cluster::far_operations), address, 8));
    denied_is(of(far_operation::barrier, address, 8));
    denied_is(of(far_operation::barrier, address, 0));  // of no round
    denied_is(of(far_operation::time, address, 8));
    denied_is(of(far_operation::shown, address, 8));  // nobody counts
    denied_is(of(far_operation::shown, address, detail::cluster::most_piece_bytes + 1));
    denied_is(of(far_operation::put, address, 8));      // no data
    denied_is(of(far_operation::put, address, 8), 16);  // too much
    denied_is(of(far_operation::put, address, 0));
    denied_is(of(far_operation::get, address, 0));
    denied_is(of(far_operation::get, address, detail::cluster::most_piece_bytes + 1));
    denied_is(of(far_operation::get, address, UINT64_MAX));
    denied_is(of(far_operation::get, 0, 8));
    denied_is(of(far_operation::get, UINT64_MAX - 3, 8));
    denied_is(of(far_operation::get, detail::current->base, 8));  // of the host that asks
    denied_is(of(far_operation::get, detail::current->base + detail::current->slice_mask + 1, 8));  // channels
    denied_is(of(far_operation::put, address + (std::uintptr_t{1} << 36), 8), 8);
    operation_head reach = of(far_operation::get, address, 8);
    reach.second = UINT64_MAX - 7;  // 8 and these are 1 less than nothing
    denied_is(reach);
    reach.second = std::uint64_t{1} << 47;
    denied_is(reach);
    operation_head odd = of(far_operation::get, address, 8);
    odd.how = 1;
    denied_is(odd);
    odd.how = 0;
    odd.zero = 1;
    denied_is(odd);
    operation_head word = of(far_operation::atomic, address, 1);
    word.type = 5;
    denied_is(word);
    word.type = static_cast<std::uint8_t>(detail::word_type::float64);
    word.how = static_cast<std::uint8_t>(detail::word_operation::fetch_or);
    denied_is(word);
    word.how = 10;
    denied_is(word);
    word.how = 0;
    word.address += 4;
    denied_is(word);  // misaligned
    operation_head signal = of(far_operation::put_signal, address, 8);
    signal.second = detail::current->base;  // of the host that asks
    denied_is(signal, 8);
    signal.second = address + 1;
    denied_is(signal, 8);
    signal.second = address;
    signal.how = 2;
    denied_is(signal, 8);
    denied_is(of(far_operation::give_back, address + 8, 0));
    denied_is(of(far_operation::box_get, address, 8));  // without a shape

    // Shapes: too many dimensions, none, empty, larger than memory, and one whose product is 8 again.
    const auto denied_box = [&](std::uint32_t dimensions, std::uint32_t element_bytes, std::vector<std::uint64_t> words,
                                std::uint64_t bytes = 8) {
      ++expected;
      const operation_head head = of(far_operation::box_get, address, bytes);
      std::vector<std::byte> sent(sizeof head + 8 + 8 * words.size());
      std::memcpy(sent.data(), &head, sizeof head);
      std::memcpy(sent.data() + sizeof head, &dimensions, 4);
      std::memcpy(sent.data() + sizeof head + 4, &element_bytes, 4);
      if (!words.empty()) std::memcpy(sent.data() + sizeof head + 8, words.data(), 8 * words.size());
      as.send(sent);
    };
    denied_box(0, 8, {});
    denied_box(17, 8, std::vector<std::uint64_t>(34, 1));
    denied_box(UINT32_MAX, 8, {1, 1});
    denied_box(1, 8, {1});
    denied_box(1, 8, {1, 1, 1});
    denied_box(1, 0, {1, 1});
    denied_box(1, 8, {0, 1});
    denied_box(1, 8, {2, 1});
    denied_box(2, 8, {std::uint64_t{1} << 61, 8, 0, 0});
    denied_box(2, 4, {1, 2, 1, 1}, 8);                 // outside the range that it names
    denied_box(1, 4, {2, std::uint64_t{1} << 62}, 8);  // a stride beyond everything
    denied_box(1, 4, {2, 0x8000'0000'0000'0000}, 8);
    denied_box(1, 4, {2, static_cast<std::uint64_t>(-(1LL << 40))}, 8);  // before the segment

    // Nobody knows whose these are.
    const auto drop = [&](std::span<const std::byte> head) {
      ++nobodys;
      as.send(head);
    };
    drop({});
    const operation_head good = of(far_operation::get, address, 8);
    drop(os::bytes_of(good).first(47));
    operation_head foreign = good;
    foreign.source = 1;  // a place of the server's own host, behind the end of place 0
    drop(os::bytes_of(foreign));
    foreign.source = UINT32_MAX;
    drop(os::bytes_of(foreign));

    // The server goes on, and nothing was written.
    EXPECT_EQ(get(there), 77);
    // Place 0 waited for none of the answers.
    while (at.far.count().dropped < expected) at.far.poll();
  });
  EXPECT_EQ(denied, expected);
  EXPECT_EQ(dropped, nobodys);
}

TEST_F(hosts, answers_that_nobody_waits_for_are_dropped) {
  run([](const at_first& at) {
    const ptr<long> there = longs_at(at.there);
    put(there, 5L);
    test_network& network = at.all.network();
    const wire_peer server = at.all.end_of_server(1);
    const auto before = at.far.count().dropped;
    std::uint64_t sent = 0;
    const auto send = [&](const answer_head& head, std::size_t bytes = 0, wire_peer from = 2) {
      const std::vector<std::byte> data(bytes, std::byte{9});
      network.send_as(from, 0, wire_message::answer, os::bytes_of(head), data);
      ++sent;
    };
    send({});
    send({.tag = 1024});
    send({.tag = UINT64_MAX});
    send({.tag = std::uint64_t{1} << 32}, 8, server);  // answered before
    send({.tag = 0, .status = 99}, 0, server);
    send({.tag = 0, .text_bytes = 5}, 0, server);
    send({.tag = 0}, 50'000, server);
    network.send_as(server, 0, wire_message::operation, os::bytes_of(operation_head{}), {});
    ++sent;
    while (at.far.count().dropped < before + sent) at.far.poll();
    EXPECT_EQ(get(there), 5);
  });
}

}  // namespace
}  // namespace situ
