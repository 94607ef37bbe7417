#include "os/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "support/forked.h"

namespace {

using situ::os::descriptor;
using situ::os::pipe_ends;

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }
descriptor open_null() { return descriptor{::open("/dev/null", O_RDWR | O_CLOEXEC)}; }

TEST(Descriptor, IsEmptyWithoutANumber) {
  errno = ENOENT;
  const descriptor none{-1};
  EXPECT_FALSE(none);
  EXPECT_EQ(none.number(), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(descriptor{});
}

TEST(Descriptor, MovesANumberOffTheStandardStreams) {
  const descriptor input{::dup(STDIN_FILENO)};
  ::close(STDIN_FILENO);
  const int opened = ::open("/dev/null", O_RDWR);
  const descriptor moved{opened};
  const bool is_free = !is_open(STDIN_FILENO);
  if (input) situ::test::copy_descriptor(input.number(), STDIN_FILENO);
  EXPECT_EQ(opened, STDIN_FILENO);
  EXPECT_TRUE(is_free);
  ASSERT_GT(moved.number(), STDERR_FILENO);
  EXPECT_EQ(::fcntl(moved.number(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::write(moved.number(), "x", 1), 1);
}

TEST(Descriptor, ClosesAtItsEnd) {
  int number = -1;
  {
    const descriptor file = open_null();
    number = file.number();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, KeepsErrnoEvenIfItCannotClose) {
  {
    const descriptor file = open_null();
    ::close(file.number());
    errno = ENOSPC;
  }
  EXPECT_EQ(errno, ENOSPC);
}

TEST(Descriptor, IsEmptyOnceItIsMovedFrom) {
  descriptor first = open_null();
  const int number = first.number();
  ASSERT_TRUE(first);
  const descriptor second{std::move(first)};
  EXPECT_FALSE(first);  // NOLINT: that is the test
  EXPECT_EQ(second.number(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, ClosesTheOldFileWhenAnotherIsAssigned) {
  descriptor file = open_null();
  const int before = file.number();
  descriptor other = open_null();
  const int after = other.number();
  file = std::move(other);
  EXPECT_FALSE(is_open(before));
  EXPECT_EQ(file.number(), after);
  EXPECT_TRUE(is_open(after));
  file.close();
  EXPECT_FALSE(file);
  EXPECT_FALSE(is_open(after));
  file.close();
}

TEST(Descriptor, StaysOpenWhenItIsAssignedToItself) {
  descriptor file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  descriptor& same = file;
  file = std::move(same);
  EXPECT_TRUE(file);
  EXPECT_GE(::fcntl(file.number(), F_GETFD), 0);
}

TEST(Descriptor, TellsAFailureToClose) {
  descriptor file = open_null();
  const int number = file.number();
  EXPECT_EQ(file.close_checked(), 0);
  EXPECT_FALSE(is_open(number));
  EXPECT_EQ(file.close_checked(), 0);
  descriptor closed = open_null();
  ::close(closed.number());
  EXPECT_EQ(closed.close_checked(), EBADF);
}

TEST(Descriptor, GivesItsNumberAway) {
  descriptor file = open_null();
  const int number = file.release();
  EXPECT_FALSE(file);
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(PipeEnds, AreConnectedAndKeepOffTheStandardStreams) {
  const pipe_ends ends = pipe_ends::make(O_NONBLOCK);
  ASSERT_TRUE(ends);
  EXPECT_GT(ends.read.number(), STDERR_FILENO);
  EXPECT_GT(ends.write.number(), STDERR_FILENO);
  EXPECT_EQ(::fcntl(ends.write.number(), F_GETFD), FD_CLOEXEC);
  char got = 0;
  EXPECT_EQ(::read(ends.read.number(), &got, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(::write(ends.write.number(), "x", 1), 1);
  EXPECT_EQ(::read(ends.read.number(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
}

TEST(Descriptor, AStandardStreamIsReplaced) {
  const descriptor input{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
  const pipe_ends ends = pipe_ends::make();
  ASSERT_EQ(::write(ends.write.number(), "x", 1), 1);
  const bool is_replaced = situ::os::replace_stream(STDIN_FILENO, ends.read.number());
  char got = 0;
  const ssize_t bytes = ::read(STDIN_FILENO, &got, 1);
  const int flags = ::fcntl(STDIN_FILENO, F_GETFD);
  if (input)
    ::dup2(input.number(), STDIN_FILENO);
  else
    ::close(STDIN_FILENO);
  EXPECT_TRUE(is_replaced);
  EXPECT_EQ(bytes, 1);
  EXPECT_EQ(got, 'x');
  EXPECT_EQ(flags, 0);
  EXPECT_FALSE(situ::os::replace_stream(STDIN_FILENO, -1));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
