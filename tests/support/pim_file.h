// A machine file of a test's own, with memories that compute: by default a small one of 32 KiB beside the processors of
// the whole machine, and before it in the file one of 64 KiB in a package.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace situ::test {

inline constexpr std::string_view two_that_compute = R"(name = "two that compute"
[[node]]
id = "package"
kind = "package"
[[node]]
id = "core"
in = "package"
kind = "core"
[[node]]
id = "dram"
in = "package"
kind = "memory"
[[node]]
id = "far"
in = "package"
kind = "memory"
memory = "pim"
computes = { design = "simdram", banks = 2, subarrays = 2, rows = 128, columns = 1024, AP = "45 ns", AAP = "49 ns" }
[[node]]
id = "near"
kind = "memory"
memory = "pim"
bandwidth = "20 GB/s"
latency = "60 ns"
computes = { design = "bitsimd", banks = 2, subarrays = 2, rows = 64, columns = 1024, row_read = "46.5 ns", latch = "3 ns" }
)";

class pim_file {
 public:
  explicit pim_file(std::string_view text = two_that_compute) {
    const int made = ::mkstemp(path_.data());
    if (made < 0) throw std::system_error{errno, std::generic_category(), "cannot make " + path_};
    ::close(made);
    std::ofstream{path_} << text;
  }
  ~pim_file() { std::filesystem::remove(path_); }
  pim_file(const pim_file&) = delete;
  pim_file& operator=(const pim_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_ = testing::TempDir() + "situ-pim-XXXXXX";
};

}  // namespace situ::test
