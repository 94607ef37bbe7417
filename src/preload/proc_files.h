// Files of /proc and /sys that the watcher reads again and again, by system calls alone.
#pragma once

#include "preload/system_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace situ::preload {

// Text with an end. Does not own it.
struct text_view {
  const char* begin = nullptr;
  const char* end = nullptr;

  [[nodiscard]] bool empty() const noexcept { return begin == end; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end - begin); }
  [[nodiscard]] bool starts_with(const char* what) const noexcept {
    const char* at = begin;
    for (; *what != '\0'; ++what, ++at)
      if (at == end || *at != *what) return false;
    return true;
  }
  // Returns the text after the first `what`; empty if `what` is not in the text.
  [[nodiscard]] text_view behind(const char* what) const noexcept {
    for (text_view rest = *this; !rest.empty(); ++rest.begin)
      if (rest.starts_with(what)) {
        for (; *what != '\0'; ++what) ++rest.begin;
        return rest;
      }
    return {end, end};
  }
  // Takes the number at the begin off, with blanks before it. Returns 0 if there is none.
  std::uint64_t take_number(unsigned base = 10) noexcept {
    while (!empty() && (*begin == ' ' || *begin == '\t')) ++begin;
    std::uint64_t value = 0;
    for (; !empty(); ++begin) {
      unsigned digit = 99;
      if (*begin >= '0' && *begin <= '9') digit = static_cast<unsigned>(*begin - '0');
      if (*begin >= 'a' && *begin <= 'f') digit = static_cast<unsigned>(*begin - 'a') + 10;
      if (digit >= base) break;
      value = value * base + digit;
    }
    return value;
  }
  // Takes the word at the begin off, with blanks before it.
  text_view take_word() noexcept {
    while (!empty() && *begin == ' ') ++begin;
    text_view word{begin, begin};
    while (word.end != end && *word.end != ' ') ++word.end;
    begin = word.end;
    return word;
  }
};

// The destructor does not close the file: most files belong to a thread with descriptors of its own, which end with
// it.
class proc_file {
 public:
  void open(const char* path) noexcept {
    descriptor_ = system_call(SYS_openat, AT_FDCWD, address_of(path), O_RDONLY | O_CLOEXEC);
  }
  void close() noexcept {
    if (is_open()) system_call(SYS_close, descriptor_);
    descriptor_ = -1;
  }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  // Returns the first bytes of the file as they are now; empty if it cannot be read.
  template <std::size_t Size>
  [[nodiscard]] text_view read(char (&into)[Size]) const noexcept {
    const long bytes = is_open() ? system_call(SYS_pread64, descriptor_, address_of(into), Size, 0) : 0;
    return {into, into + (bytes > 0 ? bytes : 0)};
  }
  // Visits each line, without its end; of a long line the beginning. Stops if `visit` returns false.
  template <class Visit>
  void for_each_line(Visit visit) const noexcept {
    if (!is_open() || system_call(SYS_lseek, descriptor_, 0, SEEK_SET) != 0) return;
    char part[4096];
    char line[512];
    std::size_t length = 0;
    for (long bytes = 0; (bytes = system_call(SYS_read, descriptor_, address_of(part), sizeof part)) > 0;) {
      for (const char* at = part; at != part + bytes; ++at) {
        if (*at != '\n') {
          if (length < sizeof line) line[length++] = *at;
          continue;
        }
        if (!visit(text_view{line, line + length})) return;
        length = 0;
      }
    }
  }

 private:
  long descriptor_ = -1;
};

}  // namespace situ::preload
