// A folder of its own for the pools of a test, and what its pools hold.
#pragma once

#include "pool/format.h"

#include <situ/base/error.h>
#include <situ/pool/pool.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace situ_pool_test {

class folder {
 public:
  explicit folder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "situ-pool-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder " + name};
    path_ = name;
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name = "test.pool") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
// Without those that whoever shares the pool sets up anew.
inline std::vector<char> lasting_bytes_of(const std::string& path) {
  std::vector<char> bytes = bytes_of(path);
  std::fill_n(bytes.begin() + situ::detail::pool_area_offset, situ::detail::pool_area_bytes, 0);
  return bytes;
}
inline void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc}.write(bytes.data(),
                                                                static_cast<std::streamsize>(bytes.size()));
}

// The words of the error that it throws; fails where it throws none of this code.
template <class Body>
std::string error_of(situ::errc code, Body body) {
  try {
    body();
  } catch (const situ::error& thrown) {
    EXPECT_EQ(thrown.code(), code) << thrown.what();
    return std::string{thrown.message()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

inline constexpr situ::pool_options small{.most_bytes = std::uint64_t{1} << 24};

// A list whose sum tells whether it is whole.
struct item {
  std::uint64_t value;
  item* next;
};

inline std::vector<std::uint64_t> values_of(const item* head) {
  std::vector<std::uint64_t> values;
  for (; head != nullptr; head = head->next) values.push_back(head->value);
  return values;
}
inline void push(situ::pool& to, std::uint64_t value, const char* root = "head") {
  to.transact([&](situ::transaction& t) { t.set_root(root, t.make<item>(value, to.root<item>(root))); });
}

}  // namespace situ_pool_test
