// A pair of endpoints against a model: messages of random forms wrap around both rings many times, and each arrives
// once, in order, with every byte of it. Then the same with a thread at each end, for ThreadSanitizer.
#include "support/endpoints.h"
#include "support/places.h"

#include <situ/fabric/am.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace situ::detail {
namespace {

using test::mixed;
using test::pattern;

// What a message of this number looks like; both ends compute it.
struct random_message {
  std::uint64_t number;
  std::uint32_t arguments;
  std::uint32_t payload_bytes;
  explicit random_message(std::uint64_t n)
      : number{n}, arguments{static_cast<std::uint32_t>(mixed(n, 1) % (max_arguments + 1))} {
    switch (mixed(n, 2) % 6) {
      case 0: payload_bytes = 0; break;
      case 1: payload_bytes = static_cast<std::uint32_t>(mixed(n, 3) % 64); break;
      case 2: payload_bytes = static_cast<std::uint32_t>(max_medium_bytes - mixed(n, 3) % 130); break;
      default: payload_bytes = static_cast<std::uint32_t>(mixed(n, 3) % 4000);
    }
  }
};

struct receiver {
  std::uint64_t next = 0;
  std::uint64_t wrong = 0;
};
thread_local receiver received;

void take(message& m) {
  const random_message expected{received.next++};
  bool right = m.argument_count == expected.arguments && m.payload_bytes == expected.payload_bytes && m.source == 0;
  for (std::uint32_t i = 0; right && i < expected.arguments; ++i)
    right = m.argument(i) == mixed(expected.number, 100 + i);
  if (right) {
    const auto payload = pattern(expected.payload_bytes, expected.number);
    right = std::equal(payload.begin(), payload.end(), m.payload);
  }
  received.wrong += !right;
}
const function_id take_id = name_function(reinterpret_cast<const void*>(&take));

void send(endpoint& from, outgoing& out, const random_message& s) {
  draft message = from.begin(out, s.arguments, s.payload_bytes);
  for (std::uint32_t i = 0; i < s.arguments; ++i) message.set_argument(i, mixed(s.number, 100 + i));
  const auto payload = pattern(s.payload_bytes, s.number);
  std::copy(payload.begin(), payload.end(), message.payload);
  from.send(message, message_kind::medium_message, take_id, s.payload_bytes);
}

TEST(channel, positions_of_records_never_cross_the_end) {
  const std::uint64_t seed = test::test_seed();
  std::mt19937_64 random{seed};
  std::uint64_t position = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto bytes = static_cast<std::uint32_t>(1 + random() % (channel::data_bytes / 2));
    const record_place record = next_record(position, bytes);
    ASSERT_GE(record.begin, position);
    ASSERT_GE(record.end - record.begin, bytes);
    ASSERT_EQ(record.begin % channel::record_alignment, 0U);
    ASSERT_LE(record.begin % channel::data_bytes + bytes, channel::data_bytes);
    ASSERT_LE(record.end - position, channel::data_bytes) << "a record must fit an empty ring at any position";
    position = record.end;
  }
}

TEST(channel, agrees_with_a_queue_through_many_rounds) {
  const std::uint64_t seed = test::test_seed();
  std::mt19937_64 random{seed};
  test::local_endpoints pair{2};
  outgoing& out = pair[0].requests_to(1);
  received = {};
  std::uint64_t sent = 0;
  const auto count = static_cast<std::uint64_t>(test::rounds(20000));
  while (received.next < count) {
    const std::uint64_t burst = random() % 400;
    for (std::uint64_t i = 0; i < burst && sent < count; ++i) {
      const random_message s{sent};
      if (!pair[0].has_room(out, max_medium_bytes + 512)) break;
      const test::acting_as sender{pair.context(0)};
      send(pair[0], out, s);
      ++sent;
      ASSERT_LE(out.data_sent - out.data_seen, channel::data_bytes);
      ASSERT_LE(out.sent - out.seen, channel::cell_count);
    }
    const test::acting_as target{pair.context(1)};
    const std::uint64_t before = received.next;
    const int looks = static_cast<int>(random() % 4);
    for (int i = 0; i < looks; ++i) pair[1].poll(true);
    ASSERT_LE(received.next, sent);
    if (looks != 0) {
      ASSERT_TRUE(received.next > before || before == sent) << "nothing was taken in of " << sent - before;
    }
    ASSERT_EQ(received.wrong, 0U);
  }
  EXPECT_GT(out.data_sent, 20 * channel::data_bytes / (test::with_sanitizer ? 4 : 1))
      << "the ring should wrap around often";
  const test::acting_as target{pair.context(1)};
  EXPECT_FALSE(pair[1].poll(true));
}

// A full ring always has room again once all of it is consumed, however unlucky the position.
TEST(channel, the_largest_message_fits_after_any_other) {
  test::local_endpoints pair{2};
  outgoing& out = pair[0].requests_to(1);
  received = {};
  for (std::uint32_t bytes = 1; bytes <= max_medium_bytes; bytes += 997) {
    for (const std::uint32_t size : {bytes, max_medium_bytes}) {
      ASSERT_TRUE(pair[0].has_room(out, size + 128)) << bytes;
      const test::acting_as sender{pair.context(0)};
      draft message = pair[0].begin(out, max_arguments, size);
      pair[0].send(message, message_kind::medium_message, take_id, size);
    }
    const test::acting_as target{pair.context(1)};
    while (pair[1].poll(true)) {}
  }
}

TEST(channel, is_safe_between_two_threads) {
  test::local_endpoints pair{2};
  const auto count = static_cast<std::uint64_t>(test::rounds(20000));
  receiver outcome;
  std::atomic<bool> ended{false};
  std::thread target{[&] {
    const test::acting_as place{pair.context(1)};
    received = {};
    while (received.next < count)
      if (!pair[1].poll()) sched_yield();
    outcome = received;
    ended.store(true);
  }};
  const test::acting_as place{pair.context(0)};
  outgoing& out = pair[0].requests_to(1);
  for (std::uint64_t i = 0; i < count; ++i) send(pair[0], out, random_message{i});
  target.join();
  EXPECT_TRUE(ended.load());
  EXPECT_EQ(outcome.next, count);
  EXPECT_EQ(outcome.wrong, 0U);
}

std::vector<std::uint32_t> sources;
void note_source(message& m) { sources.push_back(m.source); }
const function_id note_source_id = name_function(reinterpret_cast<const void*>(&note_source));

// As a server writes what places of other hosts have sent.
void write_message(channel& to, std::uint64_t number, std::uint32_t source) {
  cell& c = to.cells[(number - 1) % channel::cell_count];
  c.handler = note_source_id;
  c.header.store(cell_header(number, message_kind::short_message, 0, true, source), std::memory_order_release);
}

TEST(channel, of_a_server_says_who_sent) {
  test::local_endpoints places{3};
  const test::acting_as target{places.context(2)};
  const auto from = std::make_unique<channel_pair>();
  place_slot server;
  places[2].hear_server(*from, server);
  sources.clear();
  for (std::uint64_t i = 1; i <= 3 * channel::cell_count; ++i) {
    write_message(from->request, i, i % 2);
    write_message(from->reply, i, 2);
    if (i % 100 == 0)
      while (places[2].poll()) {}
  }
  while (places[2].poll(true)) {}
  ASSERT_EQ(sources.size(), 6 * channel::cell_count);
  EXPECT_EQ(std::count(sources.begin(), sources.end(), 2U), 3 * channel::cell_count);
  EXPECT_EQ(std::count(sources.begin(), sources.end(), 1U), 3 * channel::cell_count / 2);

  // Who waits for room there is the server.
  server.sleeping.store(1);
  from->request.producer_waits.set(1);
  for (std::uint64_t i = 1; i <= channel::cell_count / 4; ++i)
    write_message(from->request, 3 * channel::cell_count + i, 0);
  while (places[2].poll()) {}
  EXPECT_EQ(server.sleeping.load(), 0U);
  EXPECT_EQ(from->request.consumed.cells.load(), 3 * channel::cell_count + channel::cell_count / 4);

  write_message(from->reply, 3 * channel::cell_count + 1, 3);  // no place
  EXPECT_EQ(test::error_of([&] { places[2].poll(); }).code, errc::bad_message);
  places[2].forget_server();
}

TEST(channel, of_a_place_says_it_by_itself) {
  test::local_endpoints places{2};
  const test::acting_as target{places.context(0)};
  write_message(*places[1].requests_to(0).to, 1, 1);
  EXPECT_EQ(test::error_of([&] { places[0].poll(); }).code, errc::bad_message);
}

}  // namespace
}  // namespace situ::detail
