// A file that has its name once it is whole: who is killed while it is written leaves nothing, and whoever opens the
// name finds the old file or the new one. For copies of pools. Belongs to who made it; not thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace situ::detail {

class whole_file {
 public:
  // may_replace: what the name has is replaced. Throws bad_file.
  whole_file(std::string path, bool may_replace);
  // Without publish() nothing is left.
  ~whole_file();
  whole_file(const whole_file&) = delete;
  whole_file& operator=(const whole_file&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // By which this process opens it once more.
  [[nodiscard]] std::string path_here() const;
  // Gives it its name, once its bytes and then its name are on the device. Throws bad_file.
  void publish();

 private:
  void give_temporary_name();
  [[noreturn]] void refuse(const char* what, int reason) const;

  std::string path_;
  bool may_replace_;
  int descriptor_ = -1;
  std::string temporary_;  // its name meanwhile, where it has one
};

// The folder that a file's name is in; brings that name to the device, and returns 0, or errno's value.
[[nodiscard]] std::string folder_of(const std::string& path);
[[nodiscard]] int sync_folder(const std::string& path);

// Brings all bytes of a file from one descriptor to another, and leaves holes out. Returns how many bytes were no hole.
// Throws bad_file, out_of_memory.
std::uint64_t copy_bytes(int from, int to, std::uint64_t bytes, const std::string& path);

}  // namespace situ::detail
