// Descriptors that close themselves, and that keep off the standard streams.
//
// If a program is started with closed standard streams (`program >&-`), the next descriptor that is opened gets the
// number 0, 1 or 2, and the program's output is written to it. So no descriptor that Situ opens may have these
// numbers: `os::descriptor` moves the number that it is given, and libraries that open descriptors are called while a
// standard_streams_filled lives. Thread-safe as the descriptors of a process are; no other thread may open or close 0
// to 2 at the same time.
#pragma once

#include <utility>

namespace situ::os {

// Owns an open file, under a number above 2. Its destructor closes it, and leaves errno as it is. Movable.
class descriptor {
 public:
  descriptor() = default;
  // Takes the number that a system call has returned; it may be -1: then the object is empty, and errno is unchanged.
  // A number below 3 is closed, and the same open file gets another one, closed on exec; the object is empty, with
  // errno, if there is no further number. cost: nothing if the number is above 2 already.
  explicit descriptor(int number) noexcept;
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  // Closes the file that the object had; does nothing if `other` is this object.
  descriptor& operator=(descriptor&& other) noexcept {
    descriptor taken{std::move(other)};
    std::swap(number_, taken.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) close_number();
  }
  // Returns -1 if the object is empty.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
  // Closes it now; does nothing if the object is empty.
  void close() noexcept {
    if (number_ >= 0) close_number();
  }
  // As above, for a file that was written: returns 0, or errno's value if the file system reports a failure only now.
  [[nodiscard]] int close_checked() noexcept;
  // Gives the number to the caller, who closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  void close_number() noexcept;

  int number_ = -1;
};

// Makes a standard stream (0 to 2) another number of the open file `by`; it stays open at exec. Returns false, with
// errno, on failure.
[[nodiscard]] bool replace_stream(int stream, int by) noexcept;

// Two connected ends, closed on exec. Both are empty, with errno, if they cannot be made.
struct pipe_ends {
  descriptor read;
  descriptor write;
  // flags: O_NONBLOCK and the like, beside O_CLOEXEC.
  [[nodiscard]] static pipe_ends make(int flags = 0) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(read); }
};

}  // namespace situ::os

namespace situ::detail {

// While it lives, descriptors that can be neither read nor written occupy closed standard streams: the program's
// accesses to them fail with EBADF, as before. cost: three system calls if none is closed.
class standard_streams_filled {
 public:
  standard_streams_filled() noexcept;
  ~standard_streams_filled();
  standard_streams_filled(const standard_streams_filled&) = delete;
  standard_streams_filled& operator=(const standard_streams_filled&) = delete;
  // Fills the streams until the process ends, and in programs that it starts: for Situ's own processes.
  static void for_good() noexcept;

 private:
  unsigned filled_ = 0;  // a bit for each stream
};

}  // namespace situ::detail
