#include "runtime/launch_output.h"

#include "base/descriptor.h"

#include <situ/base/error.h>

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

// A line longer than this is written in pieces, each labelled: memory stays bounded whatever a place writes.
constexpr std::size_t longest_line = std::size_t{1} << 20;

void write_all(int target, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(target, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // somebody who shares the stream made it non-blocking
      pollfd writable{target, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;  // nobody reads any more; the places go on
    }
  }
}

void close_now(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

labelled_output::labelled_output(std::uint32_t places) : all_ended_{above_standard(::eventfd(0, EFD_CLOEXEC))} {
  const std::size_t width = std::to_string(places - 1).size();
  streams_.reserve(2 * std::size_t{places});
  for (std::uint32_t i = 0; i < 2 * places; ++i) {
    int ends[2];
    if (all_ended_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0 || !above_standard(ends)) {
      const int reason = errno;
      for (stream& each : streams_) close_now(each.read_end), close_now(each.write_end);
      close_now(all_ended_);
      throw_error(
          errc::bad_launch,
          fmt::format("cannot label the output of {} places: {}; raise the limit (ulimit -n) or leave --tag out",
                      places, ::strerrordesc_np(reason)));
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_.push_back({ends[0], ends[1], 1 + static_cast<int>(i % 2), fmt::format("[{:>{}}] ", i / 2, width), {}});
  }
}

labelled_output::~labelled_output() {
  const std::uint64_t one = 1;
  while (::write(all_ended_, &one, sizeof one) < 0 && errno == EINTR) {}
  worker_.join();
  for (stream& each : streams_) close_now(each.read_end), close_now(each.write_end);
  close_now(all_ended_);
}

void labelled_output::redirect_in_child(std::uint32_t place) const noexcept {
  ::dup2(streams_[2 * place].write_end, STDOUT_FILENO);
  ::dup2(streams_[2 * place + 1].write_end, STDERR_FILENO);
}

void labelled_output::start() {
  for (stream& each : streams_) close_now(each.write_end);
  worker_ = worker{[this] {
    sigset_t all;  // signals are the monitor's
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    copy_until_ended();
  }};
}

void labelled_output::copy_until_ended() {
  std::vector<pollfd> waits;
  for (const stream& each : streams_) waits.push_back({each.read_end, POLLIN, 0});
  waits.push_back({all_ended_, POLLIN, 0});
  while (waits.back().revents == 0) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (waits[i].revents != 0 && !copy(streams_[i])) waits[i].fd = -1;
  }
  // Every place has ended, so all it wrote is in the pipe. A program that a place left running may keep the pipe open;
  // it is not waited for.
  for (stream& each : streams_) {
    copy(each);
    if (!each.line.empty()) write_all(each.target, fmt::format("{}{}\n", each.label, each.line));
  }
}

bool labelled_output::copy(stream& from) {
  for (std::size_t copied = 0; copied < longest_line;) {  // then the others have their turn
    char buffer[16384];
    const ssize_t length = ::read(from.read_end, buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno == EAGAIN;
    if (length == 0) return false;
    copied += static_cast<std::size_t>(length);
    std::string text = std::move(from.line);
    text.append(buffer, static_cast<std::size_t>(length));
    write_lines(from, text);
  }
  return true;
}

// One write a batch of lines, so that lines of several places do not mix within one another.
void labelled_output::write_lines(stream& from, std::string& text) {
  std::string labelled;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    labelled.append(from.label).append(text, begin, end + 1 - begin);
  from.line = text.substr(begin);
  if (from.line.size() >= longest_line) labelled.append(from.label).append(std::exchange(from.line, {})).append("\n");
  write_all(from.target, labelled);
}

}  // namespace situ::detail
