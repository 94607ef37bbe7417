// situ::payload: what a function reads where it lies in the message of its call.
#include "support/places.h"

#include <sys/prctl.h>

#include <array>
#include <csignal>
#include <numeric>
#include <span>
#include <stdexcept>

namespace situ {
namespace {

class payloads : public test::on_places {};

struct padded {
  char a;
  double b;
  friend bool operator==(const padded&, const padded&) = default;
};
struct alignas(16) wide {
  std::uint64_t a, b;
  friend bool operator==(const wide&, const wide&) = default;
};

template <class T>
T element(std::size_t i) {
  return static_cast<T>(i);
}
template <>
padded element<padded>(std::size_t i) {
  return {static_cast<char>(i), 0.5 * static_cast<double>(i)};
}
template <>
wide element<wide>(std::size_t i) {
  return {i, ~i};
}

template <class T>
std::vector<T> elements(std::size_t count) {
  std::vector<T> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(element<T>(i));
  return made;
}

template <class T>
bool is_aligned(const payload<T>& values) {
  return reinterpret_cast<std::uintptr_t>(values.data()) % alignof(T) == 0;
}

// In a cell, in the ring, and in a buffer; behind arguments that leave the message at every alignment.
template <class T>
void expect_arrives() {
  for (const std::size_t count : {0, 1, 2, 3, 100, 1000, 40000}) {
    const std::vector<T> sent = elements<T>(count);
    for (const place p : places()) {
      EXPECT_EQ(at(
                    p,
                    [](payload<T> values) {
                      EXPECT_TRUE(is_aligned(values));
                      return std::vector<T>(values.begin(), values.end());
                    },
                    payload{sent}),
                sent);
      EXPECT_EQ(async_at(
                    p,
                    [](const std::string& before, payload<T> values, char after) {
                      EXPECT_TRUE(is_aligned(values));
                      return before == "odd" && after == 'x' ? std::vector<T>(values.begin(), values.end())
                                                             : std::vector<T>{};
                    },
                    "odd", payload{sent}, 'x')
                    .get(),
                sent);
    }
  }
}

TEST_P(payloads, arrive_whatever_their_type_and_size) {
  run([] {
    expect_arrives<char>();
    expect_arrives<std::uint16_t>();
    expect_arrives<double>();
    expect_arrives<padded>();
    expect_arrives<wide>();
  });
}

TEST_P(payloads, give_their_room_and_their_buffers_back) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    const std::vector<double> sent = elements<double>(4000);    // four fill a channel
    const std::vector<double> large = elements<double>(20000);  // in a buffer
    const place next{(here().index() + 1) % place_count()};
    for (int i = 0; i < test::rounds(200); ++i) {
      EXPECT_EQ(at(next, [](payload<double> values) { return values.back(); }, payload{sent}), 3999);
      EXPECT_EQ(at(next, [](payload<double> values) { return values.size(); }, payload{large}), 20000U);
      EXPECT_THROW(
          at(next, [](payload<double>) { throw std::runtime_error("in place"); }, payload{sent}), remote_error);
      EXPECT_THROW(
          at(next, [](payload<double>) { throw std::runtime_error("in a buffer"); }, payload{large}), remote_error);
    }
    barrier();
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

TEST_P(payloads, come_from_any_contiguous_range) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    const std::vector<int> numbers{1, 2, 3, 4};
    const std::array<int, 2> two{5, 6};
    const int three[] = {7, 8, 9};
    const auto sum = [](payload<int> values) { return std::accumulate(values.begin(), values.end(), 0); };
    EXPECT_EQ(at(next, sum, payload{numbers}), 10);
    EXPECT_EQ(at(next, sum, payload{two}), 11);
    EXPECT_EQ(at(next, sum, payload{three}), 24);
    EXPECT_EQ(at(next, sum, payload{std::span{numbers}.subspan(1, 2)}), 5);
    EXPECT_EQ(at(next, sum, payload{numbers.data(), 2}), 3);
    EXPECT_EQ(at(
                  next, [](std::span<const int> a, payload<char> b) { return a.size() + b.size(); }, payload{numbers},
                  payload{std::string_view{"seven b"}}),
              11U)
        << "a function may take the payload as a span";
  });
}

TEST_P(payloads, are_read_while_the_function_starts_tasks) {
  run([] {
    const std::vector<double> sent = elements<double>(100);
    const place next{(here().index() + 1) % place_count()};
    thread_local double told;
    told = 0;
    barrier();
    finish([&] {
      at(
          next,
          [](payload<double> values) {
            async([](place back, double last) { at(back, [](double v) { told = v; }, last); },
                  place{(here().index() + place_count() - 1) % place_count()}, values.back());
          },
          payload{sent});
    });
    EXPECT_EQ(told, 99) << "the task may wait, since it takes values";
    barrier();
  });
}
INSTANTIATE_TEST_SUITE_P(layouts, payloads, testing::ValuesIn(test::layouts({1, 2, 3})), test::layout_name);

// ---- misuse ----

template <class F>
void expect_assertion(F misuse, std::string_view advice) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  testing::internal::CaptureStderr();
  const launch_result result = test::launch_on({launch_mode::processes, 2}, [&] {
    ::prctl(PR_SET_DUMPABLE, 0);  // no core file
    const std::vector<int> sent(100);
    if (here().index() == 0) {
      EXPECT_THROW(at(place{1}, misuse, payload{sent}), place_lost_error);
    }
    EXPECT_THROW(barrier(), place_lost_error);
  });
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.places[1].signal, SIGABRT) << result.message();
  EXPECT_NE(log.find(advice), std::string::npos) << log;
}

TEST(payload_misuse, a_wait_while_it_is_read) {
  expect_assertion([](payload<int>) { promise<int>{}.get_future().wait(); }, "must not wait");
}
TEST(payload_misuse, a_call_while_it_is_read) {
  expect_assertion([](payload<int>) { at(place{0}, [] {}); }, "send nothing");
}

// ---- bytes ----

TEST(payload_bytes, that_are_cut_short_are_refused) {
  using payload_wire = detail::argument_wire<payload<double>>;
  const std::vector<double> sent = elements<double>(5);
  alignas(16) std::array<std::byte, 64> bytes{};
  const std::size_t size = payload_wire::size(payload{sent});
  ASSERT_EQ(size, 8U + 7U + 40U);
  wire_writer writer{bytes.data()};
  payload_wire::write(writer, payload{sent});
  for (std::size_t left = 0; left < size; ++left) {
    wire_reader reader{bytes.data(), left};
    EXPECT_THROW(payload_wire::read(reader), error) << left;
  }
  wire_reader reader{bytes.data(), size};
  const payload<double> read = payload_wire::read(reader);
  EXPECT_EQ(std::vector<double>(read.begin(), read.end()), sent);
  EXPECT_EQ(reader.left(), 0U);
}

TEST(payload_bytes, are_zero_beside_the_values) {
  using payload_wire = detail::argument_wire<payload<padded>>;
  const std::vector<padded> sent = elements<padded>(3);
  for (const std::size_t begin : {0, 1, 5, 8}) {
    alignas(16) std::array<std::byte, 128> zeroed{};
    alignas(16) std::array<std::byte, 128> filled;
    filled.fill(std::byte{0xff});
    for (auto* bytes : {&zeroed, &filled}) {
      wire_writer writer{bytes->data() + begin};
      payload_wire::write(writer, payload{sent});
    }
    const std::size_t size = payload_wire::size(payload{sent});
    EXPECT_EQ(std::memcmp(zeroed.data() + begin, filled.data() + begin, size), 0) << begin;
    EXPECT_EQ(filled[begin + size], std::byte{0xff}) << begin;
  }
}

TEST(payload_bytes, announce_no_more_than_there_is) {
  alignas(16) std::array<std::byte, 64> bytes{};
  for (const std::uint64_t count : {std::uint64_t{7}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data(), &count, sizeof(count));
    wire_reader reader{bytes.data(), bytes.size()};
    EXPECT_THROW(detail::argument_wire<payload<double>>::read(reader), error) << count;
  }
}

}  // namespace
}  // namespace situ
