// A file in memory that is each state in turn that a crash may leave.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace situ_pool_test {

// Of as many bytes as the longest state.
class state_file {
 public:
  explicit state_file(std::uint64_t bytes) : descriptor_{::memfd_create("pool states", MFD_CLOEXEC)}, bytes_{bytes} {
    if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      throw std::runtime_error{"no file in memory"};
    void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (got == MAP_FAILED) throw std::runtime_error{"no mapping of a file in memory"};
    at_ = static_cast<std::byte*>(got);
  }
  ~state_file() {
    ::munmap(at_, bytes_);
    ::close(descriptor_);
  }
  state_file(const state_file&) = delete;
  state_file& operator=(const state_file&) = delete;
  // Again, where a pool has cut it.
  void lengthen() const {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0) throw std::runtime_error{"no file in memory"};
  }
  [[nodiscard]] std::byte* at() const { return at_; }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  std::uint64_t bytes_;
  std::byte* at_;
};

}  // namespace situ_pool_test
