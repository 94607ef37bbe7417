// Descriptors that keep off the standard streams.
//
// Where a program is started with closed standard streams (`program >&-`), the next descriptor that is opened gets the
// number 0, 1 or 2, and what the program prints is written there. So none that Situ opens may have these numbers: those
// that it opens itself go through above_standard(), and a library that opens some does so while a
// standard_streams_filled lives. Thread-safe: as the descriptors of a process are; nobody else may open or close 0 to 2
// at the same time.
#pragma once

namespace situ::detail {

// The same open file under a number above 2, closed on exec; the given number is closed then. -1 stays -1, and errno
// what it was. -1 with errno where there is no further descriptor. cost: nothing where it is above 2 already.
[[nodiscard]] int above_standard(int descriptor) noexcept;
// Of both ends of a pipe, and the like. False with errno, and both closed, where there is no further descriptor.
[[nodiscard]] bool above_standard(int (&pair)[2]) noexcept;

// While it lives, closed standard streams are taken by descriptors that can neither be read nor written: what the
// program does with them fails with EBADF, as before. cost: three system calls where none is closed.
class standard_streams_filled {
 public:
  standard_streams_filled() noexcept;
  ~standard_streams_filled();
  standard_streams_filled(const standard_streams_filled&) = delete;
  standard_streams_filled& operator=(const standard_streams_filled&) = delete;
  // For a process that is ours, from its start to its end and in what it starts.
  static void for_good() noexcept;

 private:
  unsigned filled_ = 0;  // a bit each
};

}  // namespace situ::detail
