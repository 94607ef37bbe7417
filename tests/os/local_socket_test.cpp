#include "os/local_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace os = situ::os;

struct socket_ends {
  os::descriptor one;
  os::descriptor other;
  explicit socket_ends(int type) {
    os::socket_pair made = os::socket_pair::make(type);
    EXPECT_TRUE(made);
    one = std::move(made.one);
    other = std::move(made.other);
  }
};

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
}

ssize_t send_text(const os::descriptor& to, std::string_view text, int passed = -1) {
  const iovec part{const_cast<char*>(text.data()), text.size()};
  return os::send_message(to, {&part, 1}, passed);
}

// A peer that passes as many descriptors as it likes.
void send_many(const os::descriptor& to, int file, std::size_t count) {
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) std::memcpy(CMSG_DATA(head) + i * sizeof(int), &file, sizeof file);
  ASSERT_EQ(::sendmsg(to.number(), &message, MSG_NOSIGNAL), 1);
}

std::string text_of(const std::array<char, 16>& from, const os::received_message& got) {
  return {from.data(), got.bytes < 0 ? 0 : static_cast<std::size_t>(got.bytes)};
}

TEST(os_local_socket, a_passed_descriptor_is_the_same_open_file) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const socket_ends ends{type};
    const os::pipe_ends sent = os::pipe_ends::make();
    ASSERT_EQ(send_text(ends.one, "here", sent.write.number()), 4);
    std::array<char, 16> bytes{};
    const os::received_message got = os::receive_message(ends.other, std::as_writable_bytes(std::span{bytes}));
    EXPECT_EQ(text_of(bytes, got), "here");
    EXPECT_FALSE(got.is_cut);
    ASSERT_TRUE(got.passed);
    EXPECT_NE(got.passed.number(), sent.write.number());
    EXPECT_GT(got.passed.number(), 2);
    EXPECT_EQ(::fcntl(got.passed.number(), F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(::write(got.passed.number(), "!", 1), 1);
    char read = 0;
    ASSERT_EQ(::read(sent.read.number(), &read, 1), 1);
    EXPECT_EQ(read, '!');
  }
}

TEST(os_local_socket, a_message_without_a_descriptor_passes_none) {
  const socket_ends ends{SOCK_SEQPACKET};
  const std::array<iovec, 2> parts{iovec{const_cast<char*>("ab"), 2}, iovec{const_cast<char*>("c"), 1}};
  ASSERT_EQ(os::send_message(ends.one, parts), 3);
  std::array<char, 16> bytes{};
  const os::received_message got = os::receive_message(ends.other, std::as_writable_bytes(std::span{bytes}));
  EXPECT_EQ(text_of(bytes, got), "abc");
  EXPECT_FALSE(got.passed);
  EXPECT_FALSE(got.is_cut);
}

TEST(os_local_socket, a_closed_peer_is_no_signal) {
  socket_ends ends{SOCK_STREAM};
  ends.one.close();
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(os::receive_message(ends.other, bytes).bytes, 0);
  EXPECT_EQ(send_text(ends.other, "x"), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(os_local_socket, without_a_message_a_socket_that_does_not_wait_fails) {
  const socket_ends ends{SOCK_STREAM | SOCK_NONBLOCK};
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(os::receive_message(ends.other, bytes).bytes, -1);
  EXPECT_EQ(errno, EAGAIN);
}

// The kernel drops those for which there is no room; alignment makes room for two.
TEST(os_local_socket, several_passed_descriptors_are_closed) {
  const socket_ends ends{SOCK_STREAM};
  const os::pipe_ends sent = os::pipe_ends::make();
  const std::ptrdiff_t before = open_descriptors();
  for (const std::size_t count : {2, 3, 8}) {
    send_many(ends.one, sent.write.number(), count);
    std::array<std::byte, 4> bytes{};
    const os::received_message got = os::receive_message(ends.other, bytes);
    EXPECT_EQ(got.bytes, 1);
    EXPECT_FALSE(got.passed) << count;
    EXPECT_EQ(got.is_cut, count > 2) << count;
    EXPECT_EQ(open_descriptors(), before) << count;
  }
}

TEST(os_local_socket, a_descriptor_that_nobody_takes_is_closed) {
  const socket_ends ends{SOCK_STREAM};
  const std::ptrdiff_t before = open_descriptors();
  ASSERT_EQ(send_text(ends.one, "x", STDERR_FILENO), 1);
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(os::receive_message(ends.other, bytes).bytes, 1);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(os_local_socket, the_peer_is_a_process_of_a_user) {
  const socket_ends ends{SOCK_STREAM};
  const auto peer = os::peer_of(ends.one);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_FALSE(os::peer_of(os::descriptor{}));
  EXPECT_EQ(errno, EBADF);
}

void expect_meeting_at(const os::local_address& at, int type) {
  const os::descriptor early = os::open_local_socket(type);
  EXPECT_NE(::connect(early.number(), at.get(), at.bytes()), 0);
  const os::descriptor listener = os::open_local_socket(type | SOCK_NONBLOCK);
  ASSERT_TRUE(os::listen_at(listener, at, 4)) << std::strerror(errno);
  EXPECT_FALSE(os::accept_from(listener));
  EXPECT_EQ(errno, EAGAIN);
  const os::descriptor client = os::open_local_socket(type);
  ASSERT_EQ(::connect(client.number(), at.get(), at.bytes()), 0) << std::strerror(errno);
  const os::descriptor server = os::accept_from(listener, SOCK_NONBLOCK);
  ASSERT_TRUE(server);
  EXPECT_NE(::fcntl(server.number(), F_GETFL) & O_NONBLOCK, 0);
  ASSERT_EQ(send_text(client, "x"), 1);
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(os::receive_message(server, bytes).bytes, 1);
  const os::descriptor other = os::open_local_socket(type);
  EXPECT_FALSE(os::listen_at(other, at, 4));
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(os_local_socket, processes_meet_at_an_abstract_name_without_a_file) {
  const std::string name = testing::TempDir() + "situ-local-socket-" + std::to_string(::getpid());
  const auto at = os::local_address::abstract(name);
  expect_meeting_at(at, SOCK_SEQPACKET);
  EXPECT_FALSE(std::filesystem::exists(name));
  expect_meeting_at(at, SOCK_STREAM);  // the name has ended with its socket
  expect_meeting_at(os::local_address::abstract(std::string(os::local_address::most_bytes, 'n')), SOCK_STREAM);
}

TEST(os_local_socket, processes_meet_at_a_path) {
  const std::string path = testing::TempDir() + "situ-local-socket-" + std::to_string(::getpid());
  const auto at = os::local_address::of_path(path);
  expect_meeting_at(at, SOCK_STREAM);
  struct stat seen{};
  ASSERT_EQ(::lstat(path.c_str(), &seen), 0);
  EXPECT_TRUE(S_ISSOCK(seen.st_mode));
  std::filesystem::remove(path);
}

}  // namespace
