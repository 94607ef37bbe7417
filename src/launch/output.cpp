#include "launch/output.h"

#include "base/file_size.h"
#include "base/print.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace situ::detail {
namespace {

// The bytes copied from one stream before the other streams have their turn. A longer line is written in pieces, each
// labelled, so that memory stays bounded whatever a place writes.
constexpr std::size_t longest_line = std::size_t{1} << 20;

}  // namespace

void write_all(int target, std::string_view text) {
  const file_size_signal_held held;
  while (!text.empty()) {
    const ssize_t written = ::write(target, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process that shares the stream made it non-blocking
      pollfd writable{target, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      // The stream has no reader, or never had one: drop the text. Any other failure is a loss. The places go on.
      if (target == STDOUT_FILENO && errno != EPIPE && errno != EBADF) note_lost_output(errno);
      return;
    }
  }
}

// --- Pipes -----------------------------------------------------------------------------------------------------------

place_pipes::place_pipes(std::uint32_t processes, sink to) : to_{std::move(to)}, all_ended_{::eventfd(0, EFD_CLOEXEC)} {
  streams_.reserve(2 * std::size_t{processes});
  for (std::uint32_t i = 0; i < 2 * processes; ++i) {
    os::pipe_ends ends = all_ended_ ? os::pipe_ends::make() : os::pipe_ends{};
    if (!ends)
      throw_error(errc::bad_launch, fmt::format("no pipes for the output of {} places: {}; raise the limit (ulimit -n)",
                                                processes, ::strerrordesc_np(errno)));
    ::fcntl(ends.read.number(), F_SETFL, O_NONBLOCK);
    streams_.push_back(std::move(ends));
  }
}

place_pipes::~place_pipes() {
  const std::uint64_t one = 1;
  while (::write(all_ended_.number(), &one, sizeof one) < 0 && errno == EINTR) {}
  worker_.join();
}

void place_pipes::start() {
  for (os::pipe_ends& each : streams_) each.write.close();
  worker_ = os::worker{os::without_signals, [this] { copy_until_ended(); }};
}

void place_pipes::copy_until_ended() {
  std::vector<pollfd> waits;
  for (const os::pipe_ends& each : streams_) waits.push_back({each.read.number(), POLLIN, 0});
  waits.push_back({all_ended_.number(), POLLIN, 0});
  while (waits.back().revents == 0) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (waits[i].revents != 0 && !copy(i)) waits[i].fd = -1;
  }
  // Every place has ended, so all its output is in the pipe. A program that a place left running may keep the pipe
  // open; do not wait for it.
  for (std::size_t i = 0; i < streams_.size(); ++i) copy(i);
}

bool place_pipes::copy(std::size_t of) {
  for (std::size_t copied = 0; copied < longest_line;) {  // then the others have their turn
    char buffer[16384];
    const ssize_t length = ::read(streams_[of].read.number(), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno == EAGAIN;
    if (length == 0) return false;
    copied += static_cast<std::size_t>(length);
    to_(static_cast<std::uint32_t>(of / 2), 1 + static_cast<int>(of % 2), {buffer, static_cast<std::size_t>(length)});
  }
  return true;
}

// --- Labels ----------------------------------------------------------------------------------------------------------

line_labels::line_labels(std::uint32_t places)
    : width_{std::to_string(places - 1).size()}, begun_(2 * std::size_t{places}) {}

std::string line_labels::label_of(std::uint32_t place) const { return fmt::format("[{:>{}}] ", place, width_); }

std::string line_labels::label(std::uint32_t place, int stream, std::string_view text) {
  std::string& line = begun(place, stream);
  line.append(text);
  const std::string label = label_of(place);
  std::string labelled;
  std::size_t begin = 0;
  for (std::size_t end = line.find('\n'); end != std::string::npos; begin = end + 1, end = line.find('\n', begin))
    labelled.append(label).append(line, begin, end + 1 - begin);
  line.erase(0, begin);
  if (line.size() >= longest_line) labelled.append(label).append(std::exchange(line, {})).append("\n");
  return labelled;
}

std::string line_labels::rest(std::uint32_t place, int stream) {
  std::string line = std::exchange(begun(place, stream), {});
  return line.empty() ? line : label_of(place) + line + "\n";
}

labelled_output::labelled_output(std::uint32_t places)
    : places_{places},
      labels_{places},
      pipes_{std::make_unique<place_pipes>(places, [this](std::uint32_t place, int stream, std::string_view text) {
        write_all(stream, labels_.label(place, stream, text));
      })} {}

labelled_output::~labelled_output() {
  pipes_.reset();
  for (std::uint32_t place = 0; place < places_; ++place)
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) write_all(stream, labels_.rest(place, stream));
}

}  // namespace situ::detail
