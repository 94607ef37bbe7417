// A file that gets its name when it is complete: if the process is killed while writing it, nothing is left, and an
// opener of the name finds the old file or the new one. For copies of pools. Belongs to its creator; not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "os/descriptor.h"

namespace situ::detail {

class whole_file {
 public:
  // may_replace: publish() may replace a file of this name. Throws bad_file.
  whole_file(std::string path, bool may_replace);
  // Deletes the file unless publish() was called.
  ~whole_file();
  whole_file(const whole_file&) = delete;
  whole_file& operator=(const whole_file&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
  // Returns a path by which this process can open the file again.
  [[nodiscard]] std::string path_here() const;
  // Gives the file its name, after its bytes are on the device, and writes the name to the device as well. Throws
  // bad_file.
  void publish();

 private:
  void give_temporary_name();
  [[noreturn]] void refuse(const char* what, int reason) const;

  std::string path_;
  bool may_replace_;
  os::descriptor file_;
  std::string temporary_;  // its name until publish(), if it has one
};

// folder_of returns the folder of a file; sync_folder makes the file's name persistent, and returns 0 or the errno
// value.
[[nodiscard]] std::string folder_of(const std::string& path);
[[nodiscard]] int sync_folder(const std::string& path);

// Copies all bytes of a file from one descriptor to another, and leaves holes out. Returns the number of bytes outside
// holes. Throws bad_file, out_of_memory.
std::uint64_t copy_bytes(int from, int to, std::uint64_t bytes, const std::string& path);

}  // namespace situ::detail
