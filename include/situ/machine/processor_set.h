// A set of processors by their operating system index. A value type; as thread-safe as a std::vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

class processor_set {
 public:
  static constexpr std::uint32_t npos = ~std::uint32_t{0};
  // Indices from here on are refused: a set is a bitmap, and no machine has so many processors.
  static constexpr std::uint32_t max_index = 1u << 20;

  processor_set() = default;
  // "0-3,8"; throws bad_argument. "" is the empty set.
  static processor_set parse(std::string_view text);
  // The processors the calling thread may run on.
  static processor_set of_this_thread();

  void insert(std::uint32_t index);
  [[nodiscard]] bool contains(std::uint32_t index) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;
  // The first member from `from` on, npos where there is none.
  [[nodiscard]] std::uint32_t first(std::uint32_t from = 0) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> members() const;

  [[nodiscard]] bool includes(const processor_set& other) const noexcept;
  [[nodiscard]] bool intersects(const processor_set& other) const noexcept;
  processor_set& operator|=(const processor_set& other);
  processor_set& operator&=(const processor_set& other);
  friend processor_set operator|(processor_set a, const processor_set& b) { return a |= b; }
  friend processor_set operator&(processor_set a, const processor_set& b) { return a &= b; }
  friend bool operator==(const processor_set&, const processor_set&) = default;

  [[nodiscard]] std::string to_string() const;  // "0-3,8"

 private:
  void shrink();
  std::vector<std::uint64_t> words_;  // no zero words at the end, so that equal sets are equal vectors
};

}  // namespace situ::machine
