// A server's end of messages by itself: what comes in any order goes into the channel in order, is bounded, takes
// turns, and is told to who sent it; what is no message harms nobody.
#include "support/endpoints.h"
#include "support/places.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "cluster/delivery.h"
#include "cluster/operations.h"
#include "memory/liveness.h"
#include "os/bytes.h"

namespace situ::detail::cluster {
namespace {

using test::mixed;
using test::pattern;

constexpr place_home homes[]{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
constexpr wire_peer stranger = 9;

struct taken_message {
  std::uint32_t source;
  std::uint64_t number;
  std::size_t bytes;
  bool is_right;
};
thread_local std::vector<taken_message> taken;

void take(message& m) {
  const std::uint64_t number = m.argument(0);
  const auto expected = pattern(m.payload_bytes, number);
  bool is_right = std::equal(expected.begin(), expected.end(), m.payload);
  for (std::uint32_t i = 1; i < m.argument_count; ++i) is_right &= m.argument(i) == mixed(number, i);
  taken.push_back({m.source, number, m.payload_bytes, is_right});
}
const function_id take_id = name_function(reinterpret_cast<const void*>(&take));

struct wire_form {
  std::vector<std::byte> head;
  std::vector<std::byte> data;
};

// The message of this number from a place to place 2, as far_place::carry makes it.
wire_form form_of(std::uint32_t source, std::uint32_t number, std::uint32_t arguments, std::uint32_t bytes,
                  std::uint32_t is_reply = 0) {
  const bool in_cell = arguments <= cell::word_count && bytes <= (cell::word_count - arguments) * 8;
  const message_form form{message_kind::medium_message, arguments, bytes, in_cell};
  const message_head head{.target = 2,
                          .source = source,
                          .sequence = number,
                          .channel = static_cast<std::uint8_t>(is_reply),
                          .kind = static_cast<std::uint8_t>(form.kind),
                          .arguments = static_cast<std::uint8_t>(arguments),
                          .payload_in_cell = static_cast<std::uint8_t>(in_cell),
                          .handler = std::uint64_t{bytes} << 48 | take_id};
  const auto payload = pattern(bytes, number);
  wire_form made;
  made.head.resize(sizeof head + std::size_t{8} * form.words_used());
  std::memcpy(made.head.data(), &head, sizeof head);
  made.data.resize(form.record_bytes());
  const std::uint32_t in_words = form.arguments_in_cell();
  for (std::uint32_t i = 0; i < arguments; ++i) {
    const std::uint64_t word = i == 0 ? number : mixed(number, i);
    std::memcpy(i < in_words ? made.head.data() + sizeof head + 8 * i : made.data.data() + 8 * (i - in_words), &word,
                8);
  }
  std::byte* const at = in_cell ? made.head.data() + sizeof head + std::size_t{8} * in_words
                                : made.data.data() + (made.data.size() - bytes);
  if (bytes != 0) std::memcpy(at, payload.data(), bytes);
  return made;
}

class server final : public host_wire {
 public:
  server() {
    places.context(3).awaited_words = awaited_words_of(places.control());
    operations_.emplace(places.context(3), homes, std::uint16_t{1}, *this);
    for (wire_peer p = 0; p < 4; ++p) operations_->add_peer(p, homes[p].host);
    messages.emplace(places.control(), homes, std::uint16_t{1}, *this, *operations_);
    messages->add_place(2, *channels);
    places[2].hear_server(*channels, slot);
    taken.clear();
  }
  void give(wire_peer from, const wire_form& what) {
    messages->received(from, wire_message::message, what.head, what.data);
  }
  void ask(wire_peer from, const credit_head& head) {
    messages->received(from, wire_message::credit, os::bytes_of(head), {});
  }
  void take_in() {
    const test::acting_as target{places.context(2)};
    while (places[2].poll(true)) {}
  }

  void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
            std::span<const std::byte> data) noexcept override {
    ASSERT_EQ(kind, wire_message::credit);
    credit_head credit;
    ASSERT_EQ(parse_credit(head, data.size(), credit), nullptr);
    EXPECT_EQ(credit.source, to);
    EXPECT_GE(credit.cells, credits[to].cells);
    credits[to] = credit;
    ++credits_sent;
  }
  void give_up(wire_peer) noexcept override {}
  bool progress(wire_receiver&) override { return false; }
  bool arm() noexcept override { return true; }
  int descriptor() const noexcept override { return -1; }
  bool is_idle() const noexcept override { return true; }

  test::local_endpoints places{4};
  std::unique_ptr<channel_pair> channels = std::make_unique<channel_pair>();
  place_slot slot;
  std::optional<operations> operations_;
  std::optional<delivery> messages;
  std::map<wire_peer, credit_head> credits;
  std::uint64_t credits_sent = 0;
};

// Two senders that keep to their windows, a network that swaps what is under way, a target that takes in now and then.
TEST(delivery, is_in_order_and_whole_whatever_the_network_does) {
  const std::uint64_t seed = test::test_seed();
  std::mt19937_64 random{seed};
  server there;
  struct sending {
    std::uint32_t number = 0;
    std::uint64_t data = 0;
    std::vector<wire_form> under_way;
  };
  std::map<std::uint32_t, sending> all{{0, {}}, {1, {}}};
  const auto count = static_cast<std::uint32_t>(test::with_sanitizer ? 2000 : 10000);
  const auto is_over = [&] { return taken.size() == 2 * std::size_t{count}; };
  while (!is_over()) {
    for (auto& [source, each] : all) {
      for (std::uint64_t burst = random() % 100; burst > 0 && each.number < count; --burst) {
        const std::uint32_t next = each.number + 1;
        const auto arguments = static_cast<std::uint32_t>(1 + mixed(next, 1) % max_arguments);
        const std::uint64_t dice = mixed(next, 2) % 10;
        const auto bytes = static_cast<std::uint32_t>(dice == 0   ? max_medium_bytes - mixed(next, 3) % 50
                                                      : dice == 1 ? mixed(next, 3) % 5000
                                                                  : mixed(next, 3) % 50);
        wire_form made = form_of(source, next, arguments, bytes);
        const credit_head seen = there.credits[source];
        const std::uint64_t end =
            made.data.empty() ? each.data : next_record(each.data, static_cast<std::uint32_t>(made.data.size())).end;
        if (next - seen.cells > channel::cell_count || end - seen.data > channel::data_bytes) {
          there.ask(source, {.source = source, .target = 2});
          break;
        }
        each.number = next;
        each.data = end;
        each.under_way.push_back(std::move(made));
      }
      std::shuffle(each.under_way.begin(), each.under_way.end(), random);
      for (std::uint64_t come = random() % 100; come > 0 && !each.under_way.empty(); --come) {
        there.give(source, each.under_way.back());
        each.under_way.pop_back();
      }
    }
    if (random() % 2 == 0) there.take_in();
    there.messages->deliver();
  }
  std::map<std::uint32_t, std::uint64_t> next{{0, 1}, {1, 1}};
  for (const taken_message& each : taken) {
    ASSERT_TRUE(each.is_right) << each.number;
    ASSERT_EQ(each.number, next[each.source]++);
  }
  EXPECT_EQ(there.messages->count().dropped, 0U);
  EXPECT_LE(there.messages->count().most_held_bytes, channel::data_bytes);
  EXPECT_GT(there.messages->count().most_held_bytes, 0U);
  EXPECT_FALSE(there.messages->is_waiting());
}

TEST(delivery, gives_those_that_wait_turns) {
  server there;
  for (std::uint32_t i = 1; i <= channel::cell_count; ++i) there.give(0, form_of(0, i, 1, 0));
  for (std::uint32_t i = 1; i <= channel::cell_count; ++i) there.give(0, form_of(0, channel::cell_count + i, 1, 0));
  for (std::uint32_t i = 1; i <= channel::cell_count; ++i) there.give(1, form_of(1, i, 1, 0));
  EXPECT_EQ(there.messages->count().delivered, channel::cell_count);
  EXPECT_FALSE(there.messages->deliver());
  EXPECT_TRUE(there.messages->is_waiting());
  EXPECT_EQ(there.credits[0].cells, channel::cell_count);
  EXPECT_EQ(there.credits_sent, 4U);  // a quarter each
  // The target wakes who waits for room.
  there.slot.sleeping.store(asleep_on_word);
  there.messages->ask_for_wake();
  there.take_in();
  EXPECT_EQ(there.slot.sleeping.load(), 0U);
  taken.clear();
  EXPECT_TRUE(there.messages->deliver());
  there.take_in();
  ASSERT_EQ(taken.size(), channel::cell_count);
  for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i].source, i % 2);
}

TEST(delivery, of_replies_does_not_wait_for_requests) {
  server there;
  for (std::uint32_t i = 1; i <= 2 * channel::cell_count; ++i) there.give(0, form_of(0, i, 1, 0));
  there.give(0, form_of(0, 1, 1, 0, 1));
  EXPECT_EQ(there.messages->count().delivered, channel::cell_count + 1);
}

TEST(delivery, tells_who_asks_as_soon_as_there_is_more) {
  server there;
  there.ask(0, {.source = 0, .target = 2});
  EXPECT_EQ(there.credits_sent, 0U);
  there.give(0, form_of(0, 1, 1, 1000));
  EXPECT_EQ(there.credits_sent, 1U);
  EXPECT_EQ(there.credits[0].cells, 1U);
  EXPECT_EQ(there.credits[0].data, 1024U);
  there.give(0, form_of(0, 2, 1, 1000));
  EXPECT_EQ(there.credits_sent, 1U);
  there.ask(0, {.source = 0, .target = 2});
  EXPECT_EQ(there.credits[0].cells, 2U);
}

TEST(delivery, keeps_nothing_for_a_place_that_has_ended) {
  server there;
  for (std::uint32_t i = 1; i <= channel::cell_count + 100; ++i) there.give(0, form_of(0, i, 1, 0));
  there.give(1, form_of(1, 2, 1, 0));  // early
  EXPECT_TRUE(there.messages->is_waiting());
  mark_lost(there.places.control(), 2, "it is a test");
  EXPECT_TRUE(there.messages->deliver());
  EXPECT_FALSE(there.messages->is_waiting());
  there.give(1, form_of(1, 1, 1, 0));
  there.give(1, form_of(1, 3, 1, 0));
  EXPECT_FALSE(there.messages->is_waiting());
  EXPECT_EQ(there.messages->count().to_ended, 103U);
}

TEST(delivery, drops_what_is_no_message_and_goes_on) {
  server there;
  std::uint64_t expected = 0;
  const auto drops = [&](wire_peer from, const wire_form& what) {
    there.give(from, what);
    EXPECT_EQ(there.messages->count().dropped, ++expected);
    EXPECT_EQ(there.messages->count().delivered, 0U);
  };
  const auto changed = [&](auto change, std::uint32_t arguments = 1, std::uint32_t bytes = 100) {
    wire_form made = form_of(0, 1, arguments, bytes);
    auto head = os::byte_reader{made.head}.take<message_head>();
    change(head);
    std::memcpy(made.head.data(), &head, sizeof head);
    return made;
  };
  const wire_form good = form_of(0, 1, 1, 100);
  drops(0, {});
  drops(0, {{good.head.begin(), good.head.begin() + 23}, good.data});
  drops(0, {{good.head.begin(), good.head.end() - 8}, good.data});
  drops(0, {good.head, {good.data.begin(), good.data.end() - 1}});
  drops(0, {good.head, {}});
  wire_form longer = good;
  longer.head.resize(longer.head.size() + 8);
  drops(0, longer);
  longer = good;
  longer.data.resize(longer.data.size() + 1);
  drops(0, longer);
  drops(0, changed([](message_head& h) { h.target = 1; }));  // not of this host
  drops(0, changed([](message_head& h) { h.target = 3; }));  // which has no channels
  drops(0, changed([](message_head& h) { h.target = ~0U; }));
  drops(0, changed([](message_head& h) { h.source = 2; }));
  drops(0, changed([](message_head& h) { h.source = ~0U; }));
  drops(2, good);  // a place of the server's own host
  drops(stranger, good);
  drops(0, changed([](message_head& h) { h.sequence = 0; }));
  drops(0, changed([](message_head& h) { h.sequence = 1 + channel::cell_count; }));
  drops(0, changed([](message_head& h) { h.sequence = ~0U; }));
  drops(0, changed([](message_head& h) { h.channel = 2; }));
  drops(0, changed([](message_head& h) { h.kind = 0; }));
  drops(0, changed([](message_head& h) { h.kind = 5; }));
  drops(0, changed([](message_head& h) { h.arguments = 17; }));
  drops(0, changed([](message_head& h) { h.payload_in_cell = 2; }));
  drops(0, changed([](message_head& h) { h.payload_in_cell = 1; }));
  drops(0, changed([](message_head& h) { h.handler |= std::uint64_t{0xffff} << 48; }));
  there.messages->received(0, wire_message::host, {}, {});
  EXPECT_EQ(there.messages->count().dropped, ++expected);

  // Beyond the window: records, and one that is there already.
  for (std::uint32_t i = 2; i <= 3; ++i) there.give(0, form_of(0, i, 1, max_medium_bytes));
  EXPECT_EQ(there.messages->count().dropped, expected);
  drops(0, form_of(0, 3, 1, 100));
  drops(0, form_of(0, 4, 1, max_medium_bytes));

  const auto drops_credit = [&](wire_peer from, const credit_head& head) {
    there.ask(from, head);
    EXPECT_EQ(there.messages->count().dropped, ++expected);
  };
  drops_credit(0, {.source = 2, .target = 2});
  drops_credit(stranger, {.source = 0, .target = 2});
  drops_credit(0, {.source = 0, .target = 1});
  drops_credit(0, {.source = 0, .target = 2, .channel = 2});
  drops_credit(0, {.source = 0, .target = 2, .zero = 1});
  drops_credit(0, {.source = 0, .target = 2, .cells = 1});
  there.messages->received(0, wire_message::credit, os::bytes_of(credit_head{}).first(31), {});
  EXPECT_EQ(there.messages->count().dropped, ++expected);
  EXPECT_EQ(there.credits_sent, 0U);

  there.give(0, good);
  there.take_in();
  there.messages->deliver();
  there.take_in();
  ASSERT_EQ(taken.size(), 3U);
  for (const taken_message& each : taken) EXPECT_TRUE(each.is_right);
  there.give(0, good);  // once more
  EXPECT_EQ(there.messages->count().dropped, ++expected);
}

}  // namespace
}  // namespace situ::detail::cluster
