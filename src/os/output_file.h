// Files that are written as a whole: reports, traces, settings. Nothing is lost without an error: each write and the
// close are checked, and a limit on the size of files (ulimit -f) is a failure like a full disk.
//
// Use replaced_file if the program may be killed while it writes, or if readers may open the file during the write.
// One object is for one thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "os/descriptor.h"

namespace situ::detail {

// A file that is written from its beginning. Its previous contents are lost.
class output_file {
 public:
  // Throws bad_file if it cannot be opened.
  explicit output_file(std::string path);
  // `file` is open for writing, or empty, with errno. `path` is for messages.
  output_file(std::string path, os::descriptor file);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  // Throws bad_file if it cannot be written.
  void add(std::string_view text);
  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    add(fmt::vformat(format, fmt::make_format_args(arguments...)));  // vformat_to would compile all of fmt once more
  }
  // Writes the rest: without close(), the file is incomplete. Throws bad_file unless the system has taken everything.
  void close();
  // Writes the rest, and waits until the system has stored the file on its device. Throws bad_file.
  void sync();

 private:
  void write_if_long();
  void write();

  std::string path_;
  os::descriptor file_;
  std::string buffer_;
};

// Replaces a file atomically: readers see the whole old file or the whole new one. The new file is written next to the
// old one, at PATH.PID; it is created at once, so that an unwritable path fails before any work is done. A symbolic
// link stays, and its target is replaced. A path that is no regular file (a device, a pipe) is written directly.
class replaced_file {
 public:
  // Throws bad_file if it cannot be made.
  explicit replaced_file(const std::string& path);
  // Without publish(), leaves the old file unchanged.
  ~replaced_file();
  replaced_file(const replaced_file&) = delete;
  replaced_file& operator=(const replaced_file&) = delete;

  // Writes the whole contents of the file. Throws bad_file unless they were written and the file has its name. Once.
  void publish(std::string_view text);
  // As publish(), and the contents are on their device before the file gets its name, and the name before the call
  // returns: after a crash of the machine there is the whole old file or the whole new one.
  void publish_durably(std::string_view text);

 private:
  void take_name();

  std::string path_;
  std::string unfinished_;  // empty: the path is written directly
  output_file file_;
};

// Write a whole file at once. Both throw bad_file, with the file and the reason.
void write_file(const std::string& path, std::string_view text);
void replace_file(const std::string& path, std::string_view text);

}  // namespace situ::detail
