// Memory of every kind that a test can have anywhere: a folder of its own, in which a file of a fixed size stands for a
// device (page_file.h says how it behaves like one).
#pragma once

#include <situ/pages/memory_kind.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace situ::test {

class kinds_of_memory {
 public:
  explicit kinds_of_memory(std::size_t device_bytes) {
    if (::mkdtemp(folder_.data()) == nullptr)
      throw std::system_error{errno, std::generic_category(), "cannot make " + folder_};
    std::ofstream{device_path()} << "what was written to it before";
    std::filesystem::resize_file(device_path(), device_bytes);
  }
  ~kinds_of_memory() {
    std::filesystem::remove(device_path());
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << folder_;
    std::filesystem::remove_all(folder_);
  }
  kinds_of_memory(const kinds_of_memory&) = delete;
  kinds_of_memory& operator=(const kinds_of_memory&) = delete;

  [[nodiscard]] memory_kind file() const { return memory_kind::parse("file:" + folder_); }
  [[nodiscard]] memory_kind device() const { return memory_kind::parse("device:" + device_path()); }
  [[nodiscard]] static memory_kind huge() { return memory_kind::parse("huge"); }
  // How many are free.
  [[nodiscard]] static int huge_pages() {
    std::ifstream file{"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"};
    int unused = 0;
    file >> unused;
    return unused;
  }
  // Those that are files, of huge pages where so many are free. Tests that take such have HUGE_PAGES in their
  // CMakeLists.txt: no two of them at once, so what is free stays free.
  [[nodiscard]] std::vector<memory_kind> files(int huge_pages_needed) const {
    std::vector<memory_kind> all{file(), device()};
    if (huge_pages() >= huge_pages_needed) all.push_back(huge());
    return all;
  }

 private:
  [[nodiscard]] std::string device_path() const { return folder_ + "/device"; }

  std::string folder_ = testing::TempDir() + "situ-memory-XXXXXX";
};

}  // namespace situ::test
