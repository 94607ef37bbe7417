// A small pool as bytes, and the file in memory that they are put into: for tests that damage them.
#pragma once

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace situ::test {

struct pool_leaf {
  std::uint64_t value;
  pool_leaf* next;
};
struct pool_node {
  std::optional<pool_leaf*> perhaps;
  pool_node* children[2];
  pool_leaf* leaf;
  std::uint64_t number;
};

// Two roots, "tree" and "list", a block of whole chunks, and, where it is cut, the log of a transaction that its writer
// did not complete. Its identity and its base are other ones each time.
[[nodiscard]] std::vector<std::byte> make_pool_image(bool is_cut, bool has_checks = false);

// A file without a name that holds such bytes; its path works in this process.
class pool_in_memory {
 public:
  pool_in_memory();
  ~pool_in_memory();
  pool_in_memory(const pool_in_memory&) = delete;
  pool_in_memory& operator=(const pool_in_memory&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Writes the pages of `bytes` that are not zero; others are holes.
  void fill(const std::vector<std::byte>& bytes);
  void set(std::uint64_t offset, std::byte value);
  // Whether it holds these bytes and no others.
  [[nodiscard]] bool holds(const std::vector<std::byte>& bytes) const;

 private:
  int descriptor_;
  std::string path_;
};

// While it lives, a page of this process lies at an address, so that a pool of that base is read elsewhere.
class taken_address {
 public:
  explicit taken_address(std::uintptr_t at);
  ~taken_address();
  taken_address(const taken_address&) = delete;
  taken_address& operator=(const taken_address&) = delete;

 private:
  void* at_;
};

}  // namespace situ::test
