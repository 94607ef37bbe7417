#include "os/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace situ::detail {
namespace {

constexpr int streams = 3;

// Returns a bit for each stream that was closed and is filled now. O_PATH: any folder can be opened this way, and
// nothing can be read or written.
unsigned fill_closed(int flags) noexcept {
  unsigned filled = 0;
  for (int stream = 0; stream < streams; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    const int made = ::open("/", O_PATH | O_DIRECTORY | flags);
    if (made >= 0 && made < streams)
      filled |= 1U << made;
    else if (made >= 0)
      ::close(made);
  }
  return filled;
}

}  // namespace

standard_streams_filled::standard_streams_filled() noexcept {
  const int before = errno;
  filled_ = fill_closed(O_CLOEXEC);
  errno = before;
}

standard_streams_filled::~standard_streams_filled() {
  const int before = errno;
  for (int stream = 0; stream < streams; ++stream)
    if ((filled_ >> stream & 1) != 0) ::close(stream);
  errno = before;
}

void standard_streams_filled::for_good() noexcept { fill_closed(0); }

}  // namespace situ::detail

namespace situ::os {
namespace {

int above_standard(int number) noexcept {
  if (number < 0 || number > STDERR_FILENO) return number;
  const int moved = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int reason = errno;
  ::close(number);
  errno = reason;
  return moved;
}

}  // namespace

descriptor::descriptor(int number) noexcept : number_{above_standard(number)} {}

void descriptor::close_number() noexcept {
  const int before = errno;
  ::close(std::exchange(number_, -1));
  errno = before;
}

int descriptor::close_checked() noexcept {
  if (number_ < 0) return 0;
  return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno;
}

bool replace_stream(int stream, int by) noexcept { return ::dup2(by, stream) >= 0; }

pipe_ends pipe_ends::make(int flags) noexcept {
  int both[2];
  if (::pipe2(both, O_CLOEXEC | flags) != 0) return {};
  pipe_ends made{descriptor{both[0]}, descriptor{both[1]}};
  if (made.read && made.write) return made;
  return {};
}

}  // namespace situ::os
