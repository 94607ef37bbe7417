// Active messages of every category, size and number of arguments; their order, their answers, and what happens when a
// peer is full.
#include "support/places.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>

namespace situ {
namespace {

using test::mixed;
using test::pattern;

struct small_struct {
  std::int32_t a;
  std::int16_t b;
  friend bool operator==(const small_struct&, const small_struct&) = default;
};
enum class colour : std::uint16_t { red = 7, blue = 0xfffe };

// One argument each of 16 types: the first n of them are what a message with n arguments carries.
using sixteen = std::tuple<int, bool, double, char, std::uint64_t, float, small_struct, std::int16_t, colour, place,
                           std::array<char, 5>, std::int64_t, ptr<long>, std::uint8_t, std::byte, std::uint32_t>;

template <class T>
T value_of(std::uint64_t seed) {
  const std::uint64_t bits = mixed(seed);
  if constexpr (std::is_same_v<T, bool>) {
    return bits % 2 != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(bits) >> 40) / 8;
  } else if constexpr (std::is_same_v<T, small_struct>) {
    return {static_cast<std::int32_t>(bits), static_cast<std::int16_t>(bits >> 32)};
  } else if constexpr (std::is_same_v<T, ptr<long>>) {
    return ptr<long>{reinterpret_cast<long*>(bits)};
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }
}

// What this place has been told; handlers write it.
struct tally {
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t wrong = 0;
};
thread_local tally heard;

class messages : public test::on_places {
 protected:
  void SetUp() override { heard = {}; }  // where places are the same for all tests
};

void wait_for_replies(std::uint64_t count) {
  while (heard.replies < count) progress();
}

template <class... Ts, std::size_t... I>
bool are_as_sent(std::index_sequence<I...>, std::uint64_t seed, const Ts&... values) {
  return ((values == value_of<Ts>(seed + I)) && ...);
}
template <class... Ts>
bool are_as_sent(std::uint64_t seed, const Ts&... values) {
  return are_as_sent(std::index_sequence_for<Ts...>{}, seed, values...);
}

// Handlers for the first n types. The seed of the values is the sender's index, so that it need not travel.
template <class... Ts>
struct handlers_for {
  static void on_reply(am::reply_token& t, Ts... values) {
    ++heard.replies;
    heard.wrong += !are_as_sent(t.source().index() + 1000, values...);
  }
  static void on_request(am::token& t, Ts... values) {
    ++heard.requests;
    heard.wrong += !are_as_sent(t.source().index(), values...);
    reply(t, std::index_sequence_for<Ts...>{});
  }
  static void on_medium_reply(am::reply_token& t, std::span<std::byte> payload, Ts... values) {
    ++heard.replies;
    const auto expected = pattern(payload.size(), t.source().index() + 1000);
    heard.wrong += !are_as_sent(t.source().index() + 1000, values...) ||
                   !std::equal(payload.begin(), payload.end(), expected.begin());
  }
  static void on_medium(am::token& t, std::span<std::byte> payload, Ts... values) {
    ++heard.requests;
    const auto expected = pattern(payload.size(), t.source().index());
    heard.wrong +=
        !are_as_sent(t.source().index(), values...) || !std::equal(payload.begin(), payload.end(), expected.begin());
    reply_medium(t, payload.size(), std::index_sequence_for<Ts...>{});
  }
  static void on_long(am::token& t, std::span<std::byte> payload, Ts... values) {
    ++heard.requests;
    const auto expected = pattern(payload.size(), t.source().index());
    heard.wrong +=
        !are_as_sent(t.source().index(), values...) || !std::equal(payload.begin(), payload.end(), expected.begin());
    heard.wrong += !payload.empty() && !ptr<std::byte>{payload.data()}.is_here();
    reply(t, std::index_sequence_for<Ts...>{});
  }
  template <std::size_t... I>
  static void reply(am::token& t, std::index_sequence<I...>) {
    t.reply_short<on_reply>(value_of<Ts>(here().index() + 1000 + I)...);
  }
  template <std::size_t... I>
  static void reply_medium(am::token& t, std::size_t bytes, std::index_sequence<I...>) {
    t.reply_medium<on_medium_reply>(pattern(bytes, here().index() + 1000), value_of<Ts>(here().index() + 1000 + I)...);
  }

  template <std::size_t... I>
  static void send_short(place to, std::index_sequence<I...>) {
    am::request_short<on_request>(to, value_of<Ts>(here().index() + I)...);
  }
  template <std::size_t... I>
  static void send_medium(place to, std::size_t bytes, std::index_sequence<I...>) {
    am::request_medium<on_medium>(to, pattern(bytes, here().index()), value_of<Ts>(here().index() + I)...);
  }
  template <std::size_t... I>
  static void send_long(place to, ptr<std::byte> where, std::size_t bytes, std::index_sequence<I...>) {
    am::request_long<on_long>(to, where, pattern(bytes, here().index()), value_of<Ts>(here().index() + I)...);
  }
};

template <std::size_t... I>
auto first_types(std::index_sequence<I...>) -> handlers_for<std::tuple_element_t<I, sixteen>...>;
template <std::size_t Count>
using with_arguments = decltype(first_types(std::make_index_sequence<Count>{}));

// Calls visit.operator()<n>() for n = 0 .. 16.
template <class Visit>
void for_each_count(Visit visit) {
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (visit.template operator()<N>(), ...);
  }(std::make_index_sequence<am::max_arguments() + 1>{});
}

TEST_P(messages, short_ones_carry_up_to_sixteen_arguments_of_any_type) {
  run([] {
    std::uint64_t sent = 0;
    for (int round = 0; round < 3; ++round)
      for_each_count([&]<std::size_t Count>() {
        for (const place to : places()) {
          with_arguments<Count>::send_short(to, std::make_index_sequence<Count>{});
          ++sent;
        }
      });
    wait_for_replies(sent);
    barrier();
    EXPECT_EQ(heard.requests, sent);
    EXPECT_EQ(heard.replies, sent);
    EXPECT_EQ(heard.wrong, 0U);
  });
}

TEST_P(messages, medium_ones_carry_payloads_of_every_size) {
  run([] {
    std::uint64_t sent = 0;
    std::vector<std::size_t> sizes;
    constexpr std::size_t step = test::or_modelled(1, 13);
    for (std::size_t bytes = 0; bytes <= 130; bytes += step)
      sizes.push_back(bytes);  // within the cell, and just beyond
    for (const std::size_t bytes :
         {1000UL, 4095UL, 4096UL, 4097UL, 30000UL, am::max_medium_bytes() - 1, am::max_medium_bytes()})
      sizes.push_back(bytes);
    for (const std::size_t bytes : sizes)
      for_each_count([&]<std::size_t Count>() {
        if (bytes > 130 && Count % test::or_modelled(4, 16) != 0) return;
        with_arguments<Count>::send_medium(place{static_cast<std::uint32_t>(sent % place_count())}, bytes,
                                           std::make_index_sequence<Count>{});
        ++sent;
      });
    wait_for_replies(sent);
    barrier();
    EXPECT_EQ(heard.wrong, 0U);
    EXPECT_EQ(all_reduce(heard.requests, std::plus<>{}), sent * place_count());
  });
}

TEST_P(messages, long_ones_write_their_payload_first) {
  run([] {
    constexpr std::size_t large = std::size_t{1} << test::or_modelled(20, 17);
    constexpr std::size_t most = 3 * large + 77;
    const std::uint32_t n = place_count();
    const auto blocks = all_gather(allocate<std::byte>(n * most));  // a part for each sender
    std::uint64_t sent = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4096},
                                    am::max_medium_bytes() + 1, large, most}) {
      for_each_count([&]<std::size_t Count>() {
        if (bytes > test::or_modelled(100000U, 60U) && Count != 3 && Count != 16) return;
        const std::uint32_t to = (here().index() + static_cast<std::uint32_t>(Count)) % n;
        with_arguments<Count>::send_long(place{to}, blocks[to] + static_cast<std::ptrdiff_t>(here().index() * most),
                                         bytes, std::make_index_sequence<Count>{});
        wait_for_replies(++sent);  // the part is written anew by the next
      });
    }
    barrier();
    EXPECT_EQ(heard.wrong, 0U);
    EXPECT_EQ(all_reduce(heard.requests, std::plus<>{}), sent * n);
    deallocate(blocks[here().index()]);
  });
}

void ignore_payload(am::token&, std::span<std::byte>) { ++heard.requests; }
void ignore(am::token&) { ++heard.requests; }

TEST_P(messages, what_cannot_be_sent_is_an_error) {
  run([] {
    const std::vector<std::byte> payload(am::max_medium_bytes() + 1);
    EXPECT_EQ(test::error_of([&] { am::request_medium<ignore_payload>(here(), payload); }).code, errc::bad_argument);
    EXPECT_EQ(test::error_of([&] { am::request_short<ignore>(place{place_count()}); }).code, errc::bad_argument);
    EXPECT_EQ(test::error_of([&] { am::request_long<ignore_payload>(here(), nullptr, payload); }).code,
              errc::bad_address);
    const auto blocks = all_gather(allocate<std::byte>(payload.size()));
    if (place_count() > 1) {
      const place elsewhere{(here().index() + 1) % place_count()};
      const auto e =
          test::error_of([&] { am::request_long<ignore_payload>(here(), blocks[elsewhere.index()], payload); });
      EXPECT_EQ(e.code, errc::bad_address);
      EXPECT_TRUE(e.says("lies at place " + std::to_string(elsewhere.index()))) << e.text;
    }
    barrier();
    EXPECT_EQ(heard.requests, 0U);
    deallocate(blocks[here().index()]);
  });
}

// --- Order -----------------------------------------------------------------------------------------------------------

constexpr std::uint32_t most_places = 64;
thread_local std::array<std::uint64_t, most_places> next_request{};
thread_local std::array<std::uint64_t, most_places> next_reply{};

void arrive(std::array<std::uint64_t, most_places>& next, place source, std::uint64_t number) {
  heard.wrong += next[source.index()]++ != number;
}

void on_numbered_reply(am::reply_token& t, std::uint64_t number) {
  ++heard.replies;
  arrive(next_reply, t.source(), number);
}
void on_numbered_medium_reply(am::reply_token& t, std::span<std::byte>, std::uint64_t number) {
  on_numbered_reply(t, number);
}
void answer_in_turn(am::token& t, std::uint64_t number) {
  ++heard.requests;
  arrive(next_request, t.source(), number);
  if (number % 3 == 0) {
    t.reply_medium<on_numbered_medium_reply>(pattern(number % 500, 1), number);
  } else {
    t.reply_short<on_numbered_reply>(number);
  }
}
void on_numbered(am::token& t, std::uint64_t number) { answer_in_turn(t, number); }
void on_numbered_payload(am::token& t, std::span<std::byte>, std::uint64_t number) { answer_in_turn(t, number); }
void on_numbered_and_more(am::token& t, std::uint64_t number, int, int, int, int, int, int, int) {
  answer_in_turn(t, number);
}

TEST_P(messages, arrive_in_the_order_in_which_they_were_sent) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const std::uint32_t n = place_count();
    const auto landing = all_gather(allocate<std::byte>(4096 * n));
    std::mt19937_64 random{mixed(seed, here().index())};
    std::vector<std::uint64_t> numbers(n);
    const auto count = static_cast<std::uint64_t>(test::rounds(20000));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto to = static_cast<std::uint32_t>(random() % n);
      const std::uint64_t number = numbers[to]++;
      switch (random() % 8) {
        case 0: am::request_medium<on_numbered_payload>(place{to}, pattern(random() % 3000, number), number); break;
        case 1:
          am::request_long<on_numbered_payload>(place{to},
                                                landing[to] + static_cast<std::ptrdiff_t>(4096 * here().index()),
                                                pattern(random() % 4096, number), number);
          break;
        case 2: am::request_short<on_numbered_and_more>(place{to}, number, 1, 2, 3, 4, 5, 6, 7); break;
        case 3: progress(); [[fallthrough]];
        default: am::request_short<on_numbered>(place{to}, number);
      }
    }
    wait_for_replies(count);
    barrier();
    EXPECT_EQ(heard.wrong, 0U);
    EXPECT_EQ(all_reduce(heard.requests, std::plus<>{}), count * n);
    deallocate(landing[here().index()]);
  });
}

// --- Full peers ------------------------------------------------------------------------------------------------------

void on_echo(am::reply_token&, std::uint64_t) { ++heard.replies; }
void on_ping(am::token& t, std::uint64_t value) {
  ++heard.requests;
  t.reply_short<on_echo>(value);
}

// Place 1 takes nothing in. Place 0 fills its channel and waits for room; meanwhile it must serve place 2 and send to
// it.
TEST_P(messages, a_full_peer_does_not_hold_up_a_third_place) {
  run([] {
    if (place_count() < 3) return;
    const auto go_on = all_gather(allocate<std::uint32_t>());
    atomic_store(go_on[here().index()], 0);
    barrier();
    constexpr std::uint64_t flood = 3 * detail::channel::cell_count;
    constexpr std::uint64_t pings = 100;
    switch (here().index()) {
      case 0: {
        auto beside = async([] {
          for (std::uint64_t i = 0; i < pings; ++i)
            EXPECT_EQ(at(place{2}, [](std::uint64_t v) { return v + 1; }, i), i + 1);
        });
        for (std::uint64_t i = 0; i < flood; ++i) am::request_short<on_ping>(place{1}, i);
        beside.get();
        wait_for_replies(flood);
        break;
      }
      case 1:
        while (atomic_load(go_on[1]) == 0) sched_yield();
        break;
      case 2:
        for (std::uint64_t i = 0; i < pings; ++i) am::request_short<on_ping>(place{0}, i);
        wait_for_replies(pings);
        at(
            place{0},
            [](ptr<std::uint32_t> flag) {
              // Here place 0 is in its flood, which cannot end before place 1 goes on.
              EXPECT_EQ(get(flag), 0U);
            },
            go_on[1]);
        atomic_store(go_on[1], 1);
        break;
      default: break;
    }
    barrier();
    deallocate(go_on[here().index()]);
  });
}

TEST_P(messages, everybody_floods_everybody_and_is_answered) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{mixed(seed, here().index())};
    const auto count = static_cast<std::uint64_t>(test::rounds(30000));
    for (std::uint64_t i = 0; i < count; ++i)
      am::request_short<on_ping>(place{static_cast<std::uint32_t>(random() % place_count())}, i);
    wait_for_replies(count);
    barrier();
    EXPECT_EQ(heard.replies, count);
    EXPECT_EQ(all_reduce(heard.requests, std::plus<>{}), count * place_count());
  });
}

void on_big_echo(am::reply_token& t, std::span<std::byte> payload) {
  ++heard.replies;
  const auto expected = pattern(payload.size(), t.source().index());
  heard.wrong += !std::equal(payload.begin(), payload.end(), expected.begin());
}
void on_big_ping(am::token& t, std::span<std::byte> payload) {
  t.reply_medium<on_big_echo>(pattern(payload.size(), here().index()));
}

// The data rings fill long before the cells do; the replies' too, while their handlers' place waits for room itself.
TEST_P(messages, floods_of_large_messages_with_large_answers) {
  run([] {
    const auto count = static_cast<std::uint64_t>(test::rounds(300));
    const std::vector<std::byte> payload(am::max_medium_bytes());
    for (std::uint64_t i = 0; i < count; ++i)
      am::request_medium<on_big_ping>(place{static_cast<std::uint32_t>((here().index() + i) % place_count())},
                                      std::span{payload}.first(payload.size() - i));
    wait_for_replies(count);
    barrier();
    EXPECT_EQ(heard.replies, count);
    EXPECT_EQ(heard.wrong, 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, messages, testing::ValuesIn(test::all_layouts()), test::layout_name);

// Above 16 places an endpoint looks at some channels only in each poll: all must have their turn all the same.
class messages_among_many : public messages {
 protected:
  void SetUp() override {
    messages::SetUp();
    next_request = next_reply = {};
  }
};

TEST_P(messages_among_many, reach_every_place_from_every_place) {
  run([] {
    const auto laps = static_cast<std::uint64_t>(test::rounds(30));
    for (std::uint64_t lap = 0; lap < laps; ++lap)
      for (const place to : places()) am::request_short<on_numbered>(to, lap);
    wait_for_replies(laps * place_count());
    barrier();
    EXPECT_EQ(heard.requests, laps * place_count());
    EXPECT_EQ(heard.wrong, 0U);
  });
}

// One quiet place speaks up while others keep each other busy.
TEST_P(messages_among_many, a_rare_sender_is_heard_beside_busy_ones) {
  run([] {
    const auto done = allocate<std::uint32_t>();
    atomic_store(done, 0);
    const auto flag = broadcast(done, 0);
    const std::uint32_t last = place_count() - 1;
    if (here().index() == last) {
      for (int i = 0; i < test::rounds(30); ++i) EXPECT_EQ(at(place{0}, [](int v) { return 2 * v; }, i), 2 * i);
      atomic_store(flag, 1);
    } else if (here().index() < 4) {
      while (atomic_load(flag) == 0) {
        am::request_short<on_ping>(place{here().index() ^ 1}, std::uint64_t{1});
        progress();
      }
    }
    barrier();
    deallocate(done);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, messages_among_many, testing::ValuesIn(test::layouts({17, 20, 33})),
                         test::layout_name);

}  // namespace
}  // namespace situ
