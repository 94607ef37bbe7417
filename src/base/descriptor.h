// Descriptors that keep off the standard streams.
//
// If a program is started with closed standard streams (`program >&-`), the next descriptor that is opened gets the
// number 0, 1 or 2, and the program's output is written to it. So no descriptor that Situ opens may have these
// numbers: its own calls pass theirs through above_standard(), and libraries that open descriptors are called while a
// standard_streams_filled lives. Thread-safe as the descriptors of a process are; no other thread may open or close 0
// to 2 at the same time.
#pragma once

namespace situ::detail {

// Returns the same open file under a number above 2, closed on exec, and closes the given number. -1 stays -1, with
// errno unchanged. Returns -1 with errno if there is no further descriptor. cost: nothing if the number is above 2
// already.
[[nodiscard]] int above_standard(int descriptor) noexcept;
// As above, for both ends of a pipe or the like. Returns false with errno, and closes both, if there is no further
// descriptor.
[[nodiscard]] bool above_standard(int (&pair)[2]) noexcept;

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
