// What `situ run --hosts` and its agents say to each other: it comes back as it was, and hostile bytes are refused.
#include "launch/host_frames.h"

#include <situ/base/error.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/places.h"

namespace situ {
namespace {

using namespace detail::cluster;

agent_start start_of_two_hosts() {
  return {.host = 1,
          .homes = {0, 0, 1},
          .arguments = {"./program", "", "two words"},
          .folder = "/home/somebody",
          .first_host = "host1",
          .variables = {"SITU_LOG=debug", "EMPTY="},
          .memory = "huge",
          .intent = "bandwidth",
          .memory_budget = std::uint64_t{1} << 40,
          .stack_bytes = 65536,
          .grace_ms = 5000,
          .time_limit_ms = 60'000,
          .how = agent_start::checked | agent_start::trace,
          .binding = 2};
}

template <class T, class Unpack>
void expect_no_part_is_taken(const T& value, Unpack unpack) {
  const std::vector<std::byte> whole = pack(value);
  EXPECT_EQ(unpack(std::span{whole}), value);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW((void)unpack(std::span{whole}.first(bytes)), error) << bytes << " of " << whole.size();
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_THROW((void)unpack(std::span{longer}), error);
}

TEST(host_frames, values_come_back_and_parts_of_them_are_refused) {
  expect_no_part_is_taken(agent_hello{.build = 77}, unpack_hello);
  expect_no_part_is_taken(start_of_two_hosts(), unpack_start);
  expect_no_part_is_taken(place_end{.code = 3, .signal = -1}, unpack_end);
  expect_no_part_is_taken(std::vector<std::vector<std::byte>>{{}, {std::byte{1}}, {}}, unpack_list);
}

TEST(host_frames, a_start_that_starts_nothing_is_refused) {
  for (const auto spoil : {+[](agent_start& s) { s.homes.clear(); }, +[](agent_start& s) { s.host = 2; },
                           +[](agent_start& s) { s.arguments.clear(); }}) {
    agent_start start = start_of_two_hosts();
    spoil(start);
    EXPECT_THROW((void)unpack_start(pack(start)), error);
  }
}

TEST(host_frames, come_out_of_any_pieces) {
  std::vector<std::byte> sent;
  const auto add = [&sent](const std::vector<std::byte>& frame) {
    sent.insert(sent.end(), frame.begin(), frame.end());
  };
  add(pack_frame(frame_kind::hello, 0, pack(agent_hello{})));
  add(pack_frame(frame_kind::lost, 3, "its link was cut"));
  add(pack_frame(frame_kind::over, 0, std::string_view{}));
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    frame_reader reader;
    std::vector<host_frame> got;
    for (std::size_t at = 0; at < sent.size(); at += piece) {
      reader.take(std::span{sent}.subspan(at, std::min(piece, sent.size() - at)));
      while (std::optional<host_frame> frame = reader.next()) got.push_back(*std::move(frame));
    }
    ASSERT_EQ(got.size(), 3U) << piece;
    EXPECT_EQ(unpack_hello(got[0].bytes), agent_hello{});
    EXPECT_EQ(got[1].what, frame_kind::lost);
    EXPECT_EQ(got[1].place, 3U);
    EXPECT_EQ(text_of(got[1]), "its link was cut");
    EXPECT_EQ(got[2].what, frame_kind::over);
    EXPECT_TRUE(got[2].bytes.empty());
  }
}

TEST(host_frames, what_a_shell_says_is_shown) {
  frame_reader reader;
  const std::string greeting = "Welcome to host2!\nMore\n";
  reader.take(std::as_bytes(std::span{greeting}));
  try {
    (void)reader.next();
    FAIL() << "that was taken for a frame";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_message);
    EXPECT_EQ(e.message(), "no frame, but \"Welcome to host2!\"");
  }
}

TEST(host_frames, heads_that_are_none_are_refused) {
  const std::vector<std::byte> right = pack_frame(frame_kind::note, 0, "x");
  for (const auto& [at, value] : {std::pair<std::size_t, int>{3, 0x40}, {4, 15}, {5, 1}, {6, 1}, {7, 1}}) {
    std::vector<std::byte> wrong = right;
    wrong[at] = static_cast<std::byte>(value);
    frame_reader reader;
    reader.take(wrong);
    EXPECT_THROW((void)reader.next(), error) << at;
  }
}

TEST(host_frames, a_look_comes_as_it_was) {
  const host_look look{.number = 7, .ends = 2, .how = host_look::stands, .traffic = {{}, {3, 2}}};
  EXPECT_EQ(unpack_look(pack(look), 2), look);
  for (const std::uint16_t hosts : {1, 3}) EXPECT_THROW((void)unpack_look(pack(look), hosts), error);
}

// Mutations of what is right, and bytes that are nothing: taken or refused, never more read than has come (the
// sanitizers look).
TEST(host_frames, hostile_bytes_do_no_harm) {
  std::mt19937_64 random{test::test_seed()};
  const std::vector<std::vector<std::byte>> right{
      pack(agent_hello{}), pack(start_of_two_hosts()), pack(place_end{}), pack(host_look{.traffic = {{}, {}}}),
      pack(std::vector<std::vector<std::byte>>{{std::byte{1}}, {std::byte{2}, std::byte{3}}})};
  std::size_t taken = 0, refused = 0;
  const auto tries = [&](auto unpack) {
    try {
      (void)unpack();
      ++taken;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_message);
      ++refused;
    }
  };
  for (int round = 0; round < test::rounds(20'000); ++round) {
    std::vector<std::byte> bytes = right[random() % right.size()];
    for (std::uint64_t i = random() % 4; i > 0; --i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    tries([&] { return unpack_hello(bytes); });
    tries([&] { return unpack_start(bytes); });
    tries([&] { return unpack_end(bytes); });
    tries([&] { return unpack_list(bytes); });
    tries([&] { return unpack_look(bytes, 2); });
    tries([&] {
      frame_reader reader;
      reader.take(bytes);
      return reader.next();
    });
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace situ
