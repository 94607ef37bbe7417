// Clients that break the protocol, stop, flood or vanish: the server counts them, and serves the others on.
#include <algorithm>
#include <array>

#include "rmem/admission.h"
#include "rmem/raw_client.h"

using namespace situ_rmem_test;
using namespace situ::rmem::detail;

namespace {

class rmem_hostile : public testing::Test {
 protected:
  explicit rmem_hostile(std::chrono::milliseconds patience = 20s) : server{options(patience)} {}
  static rmem::server_options options(std::chrono::milliseconds patience) {
    auto made = options_of(4 * mebibyte);
    made.patience = patience;
    return made;
  }
  void expect_served() {
    const std::vector<std::byte> sent = pattern(300'000, ++rounds_);
    honest.write(mine, 0, sent);
    std::vector<std::byte> got(sent.size());
    honest.read(mine, 0, got);
    EXPECT_EQ(got, sent);
  }
  running_server server;
  client honest{server.endpoint(), graphs()};
  const capability mine = honest.allocate(mebibyte);
  unsigned rounds_ = 0;
};

class rmem_impatient : public rmem_hostile {
 protected:
  rmem_impatient() : rmem_hostile{200ms} {}
};

TEST_F(rmem_hostile, bytes_that_are_no_login_are_refused) {
  for (const std::string& text : {std::string(96, 'x'), std::string(100'000, '\0')}) {
    raw_client wild{server.endpoint()};
    wild.send(std::as_bytes(std::span{text}));
    EXPECT_TRUE(wild.is_closed());
  }
  expect_served();
  EXPECT_EQ(server.counted().refused_logins, 2U);
}

TEST_F(rmem_hostile, a_login_is_of_no_use_twice) {
  raw_client first{server.endpoint()};
  const auto heard = first.receive<hello>();
  login said{protocol_magic, protocol_version, 0, fixed<application_bytes>("packages"), {}, {}};
  said.proof = client_proof(packages(), heard, said);
  first.send(bytes_of(said));
  EXPECT_EQ(first.receive<welcome>().status, 0);
  raw_client second{server.endpoint()};
  EXPECT_NE(second.receive<hello>().nonce, heard.nonce);
  second.send(bytes_of(said));
  EXPECT_NE(second.receive<welcome>().status, 0);
  EXPECT_TRUE(second.is_closed());
}

TEST_F(rmem_hostile, heads_without_bounds_end_the_connection) {
  request_head wrong[4] = {head_for(operation::read, mine, 8), head_for(operation::write, mine, ~std::uint64_t{0}),
                           head_for(operation::write, mine, most_transfer + 1), head_for(operation::free, mine, 0)};
  wrong[0].body_bytes = most_body_bytes + 1;
  wrong[3].flags = flag_two_steps;
  for (const request_head& head : wrong) {
    raw_client wild{server.endpoint(), packages()};
    wild.send(bytes_of(head));
    EXPECT_EQ(wild.receive<answer_head>().status, static_cast<std::uint16_t>(status::bad_message));
    EXPECT_TRUE(wild.is_closed());
  }
  expect_served();
  EXPECT_EQ(server.counted().bad_messages, 4U);
}

TEST_F(rmem_hostile, requests_that_mean_nothing_are_answered) {
  raw_client wild{server.endpoint(), packages()};
  std::uint64_t refused = 0;
  for (std::uint16_t what = 0; what < 40; ++what)
    for (const std::uint32_t body : {0U, 1U, 8U, 24U, 48U, 256U, 16384U}) {
      request_head head{};
      head.operation = what;
      head.body_bytes = body;
      head.bytes = what == static_cast<std::uint16_t>(operation::write) ? 100 : ~std::uint64_t{0};
      head.operand = ~std::uint64_t{0};
      head.id = ++refused;
      wild.send(bytes_of(head));
      wild.send(std::vector<std::byte>(body + (what == static_cast<std::uint16_t>(operation::write) ? 100 : 0),
                                       std::byte{0xff}));
      const auto got = wild.receive<answer_head>();
      EXPECT_EQ(got.id, head.id) << what;
      std::vector<std::byte> rest(got.body_bytes);
      for (std::byte& each : rest) each = wild.receive<std::byte>();
      const bool is_a_question = what == static_cast<std::uint16_t>(operation::statistics) ||
                                 what == static_cast<std::uint16_t>(operation::list_regions) ||
                                 what == static_cast<std::uint16_t>(operation::list_views) ||
                                 (what == static_cast<std::uint16_t>(operation::list_names) && body == 48);
      EXPECT_EQ(got.status == 0, is_a_question) << what << ' ' << body;
    }
  expect_served();
}

TEST_F(rmem_hostile, half_messages_and_vanished_clients_are_counted) {
  {
    raw_client half{server.endpoint(), packages()};
    half.send(bytes_of(head_for(operation::read, mine, 8)).first(63));
    raw_client write{server.endpoint(), packages()};
    write.send(bytes_of(head_for(operation::write, mine, 1000)));
    write.send(pattern(999));
    raw_client nothing{server.endpoint(), packages()};
  }
  while (honest.server_statistics().clients != 1) std::this_thread::sleep_for(1ms);
  expect_served();
  EXPECT_EQ(server.counted().cut_messages, 2U);
}

TEST_F(rmem_impatient, who_stops_within_a_message_is_not_waited_for) {
  raw_client stranger{server.endpoint()};
  raw_client half{server.endpoint(), packages()};
  half.send(bytes_of(head_for(operation::read, mine, 8)).first(1));
  raw_client deaf{server.endpoint(), graphs()};  // takes no answers
  for (int i = 0; i < 64; ++i) deaf.send(bytes_of(head_for(operation::read, mine, mebibyte)));
  raw_client idle{server.endpoint(), packages()};  // owes nothing, so it may stay
  EXPECT_TRUE(stranger.is_closed());
  EXPECT_TRUE(half.is_closed());
  while (honest.server_statistics().timeouts != 3) std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_for(400ms);
  idle.send(bytes_of(head_for(operation::statistics, mine, 0)));
  EXPECT_EQ(idle.receive<answer_head>().status, 0);
  expect_served();
}

// More than have room: accepting rests, and those that have been silent for a moment make room.
TEST_F(rmem_hostile, a_flood_of_strangers_shuts_nobody_out) {
  const std::uint64_t room = plan_descriptors(256).strangers;
  std::vector<raw_client> strangers;
  for (std::uint64_t i = 0; i < room + 100; ++i) strangers.emplace_back(server.endpoint());
  client late{server.endpoint(), packages()};
  (void)late.allocate(1);
  expect_served();
  EXPECT_GE(server.counted().turned_away, 101U);
}

TEST_F(rmem_hostile, an_application_has_half_of_the_room_at_most) {
  std::vector<raw_client> many;
  for (int i = 0; i < 128; ++i) many.emplace_back(server.endpoint(), packages());
  expect_refused(errc::link_lost, [&] { client{server.endpoint(), packages()}; }, "too many clients");
  client late{server.endpoint(), graphs()};
  expect_served();
}

TEST(rmem_room, all_applications_together_have_the_room_that_was_said) {
  auto options = options_of(mebibyte);
  options.most_clients = 4;
  running_server server{options};
  std::vector<client> all;
  for (const rmem::application_key* key : {&packages(), &packages(), &graphs(), &graphs()})
    all.emplace_back(server.endpoint(), *key);
  expect_refused(errc::link_lost, [&] { client{server.endpoint(), cluster()}; }, "too many clients");
  EXPECT_EQ(server.counted().turned_away, 1U);
}

TEST_F(rmem_hostile, a_flood_of_requests_lets_others_through) {
  std::jthread floods{[&](const std::stop_token& stop) {
    raw_client wild{server.endpoint(), packages()};
    std::jthread drinks{[&](const std::stop_token& enough) {
      while (!enough.stop_requested()) (void)wild.receive<answer_head>();
    }};
    const std::vector<request_head> all(1000, head_for(operation::fetch_add, mine, 8));
    while (!stop.stop_requested()) wild.send(std::as_bytes(std::span{all}));
    wild.send(bytes_of(request_head{}));
    drinks.request_stop();
    wild.send(bytes_of(request_head{.operation = 99}));
  }};
  for (int i = 0; i < 20; ++i) expect_served();
}

// The capability goes while data of the write, and of the read, is on its way.
TEST_F(rmem_hostile, what_is_revoked_stops_what_is_under_way) {
  const capability given = honest.grant(mine, 0, mebibyte, rights::all);
  honest.write(mine, 0, std::vector<std::byte>(mebibyte));
  raw_client writes{server.endpoint(), packages()};
  writes.send(bytes_of(head_for(operation::write, given, 1000)));
  writes.send(std::vector<std::byte>(500, std::byte{1}));
  raw_client reads{server.endpoint(), packages()};
  for (int i = 0; i < 16; ++i) reads.send(bytes_of(head_for(operation::read, given, mebibyte)));
  std::vector<std::byte> got(1000);
  do honest.read(mine, 0, got);
  while (got[499] != std::byte{1});
  honest.revoke(given);
  honest.write(mine, 0, std::vector<std::byte>(mebibyte, std::byte{9}));
  writes.send(std::vector<std::byte>(500, std::byte{1}));
  EXPECT_EQ(writes.receive<answer_head>().status, static_cast<std::uint16_t>(status::denied));
  honest.read(mine, 0, got);
  EXPECT_EQ(got, std::vector<std::byte>(1000, std::byte{9}));
  // Of the reads nothing is sent that was written after the revocation.
  bool is_denied = false;
  while (!is_denied) {
    const auto head = reads.receive<answer_head>();
    is_denied = head.status != 0;
    for (std::uint32_t i = 0; !is_denied && i < head.body_bytes; i += 4096) {
      const auto bytes = reads.receive<std::array<std::byte, 4096>>();
      ASSERT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{9}), 0);
    }
  }
}

TEST_F(rmem_hostile, a_region_that_is_freed_stops_what_is_under_way) {
  const capability given = honest.allocate(mebibyte);
  raw_client reads{server.endpoint(), graphs()};
  for (int i = 0; i < 16; ++i) reads.send(bytes_of(head_for(operation::read, given, mebibyte)));
  while (honest.server_statistics().reads == 0) std::this_thread::sleep_for(1ms);
  honest.free(given);
  for (bool is_denied = false; !is_denied;) {
    const auto head = reads.receive<answer_head>();
    is_denied = head.status != 0;
    for (std::uint32_t i = 0; !is_denied && i < head.body_bytes; i += 4096)
      (void)reads.receive<std::array<std::byte, 4096>>();
  }
  expect_served();
}

TEST_F(rmem_hostile, a_silent_server_is_an_error) {
  std::string endpoint = "127.0.0.1:0";
  const listener listens{endpoint};
  expect_refused(errc::link_lost, [&] { client{endpoint, packages(), {.timeout = 100ms}}; }, "sent nothing for 100 ms");
}

TEST_F(rmem_hostile, a_server_that_is_gone_is_an_error) {
  server.stop();
  expect_refused(errc::link_lost, [&] { honest.fetch_add(mine, 0, 1); });
  expect_refused(errc::link_lost, [&] { client{"127.0.0.1:1", packages()}; }, "cannot connect to 127.0.0.1:1");
  for (const char* bad : {"", "7070", "localhost:", ":7070", "unix:here", "127.0.0.1:x"})
    expect_refused(errc::bad_argument, [&] { client{bad, packages()}; });
}

}  // namespace
