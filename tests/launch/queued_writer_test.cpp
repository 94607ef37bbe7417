// A writer that nobody waits for.
#include "launch/queued_writer.h"

#include "os/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include "support/places.h"

namespace situ {
namespace {

using detail::queued_writer;

// A pipe whose reader reads when it is told to.
class slow_reader {
 public:
  slow_reader() { EXPECT_TRUE(ends_); }
  [[nodiscard]] int writing() const { return ends_.write.number(); }
  void close_reading() { ends_.read.close(); }
  std::string read(std::size_t bytes) {
    std::string all(bytes, '\0');
    for (std::size_t got = 0; got < bytes;) {
      pollfd looked{ends_.read.number(), POLLIN, 0};
      if (::poll(&looked, 1, 20'000) <= 0) return all.substr(0, got);
      const ssize_t length = ::read(ends_.read.number(), all.data() + got, bytes - got);
      if (length <= 0) return all.substr(0, got);
      got += static_cast<std::size_t>(length);
    }
    return all;
  }

 private:
  os::pipe_ends ends_ = os::pipe_ends::make();
};

constexpr std::size_t most = 1 << 16;
constexpr std::size_t much = 1 << 20;  // more than a pipe holds

TEST(queued_writer, writes_in_order_and_never_waits) {
  slow_reader reader;
  queued_writer writer{most};
  EXPECT_FALSE(writer.is_full());
  for (char c = 'a'; c <= 'd'; ++c) writer.add(reader.writing(), std::string(much, c));  // returns, though nobody reads
  writer.add(reader.writing(), "");
  EXPECT_TRUE(writer.is_full());
  for (char c = 'a'; c <= 'd'; ++c) EXPECT_EQ(reader.read(much), std::string(much, c));
}

TEST(queued_writer, says_when_there_is_room_again) {
  slow_reader reader;
  queued_writer writer{most};
  pollfd room{writer.room_descriptor(), POLLIN, 0};
  writer.add(reader.writing(), std::string(much, 'x'));
  EXPECT_TRUE(writer.is_full());
  EXPECT_EQ(::poll(&room, 1, 0), 0);
  std::atomic<bool> has_room = false;
  std::jthread waits{[&] {
    writer.wait_for_room();
    has_room = true;
  }};
  EXPECT_FALSE(has_room);
  EXPECT_EQ(reader.read(much).size(), much);
  EXPECT_EQ(::poll(&room, 1, 20'000), 1);
  waits.join();
  EXPECT_TRUE(has_room);
  EXPECT_FALSE(writer.is_full());
}

TEST(queued_writer, its_end_waits_for_the_reader) {
  slow_reader reader;
  std::string got;
  std::jthread reads{[&] { got = reader.read(much); }};
  {
    queued_writer writer{most};
    writer.add(reader.writing(), std::string(much, 'y'));
  }
  reads.join();
  EXPECT_EQ(got, std::string(much, 'y'));
}

TEST(queued_writer, what_nobody_reads_any_more_is_dropped) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  slow_reader gone;
  slow_reader reader;
  gone.close_reading();
  {
    queued_writer writer{most};
    writer.add(gone.writing(), std::string(much, 'z'));
    writer.add(reader.writing(), "read");
  }
  EXPECT_EQ(reader.read(4), "read");
  (void)std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace situ
