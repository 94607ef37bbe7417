// A set of processors by their operating system index. A value type; as thread-safe as a std::vector.
// cost: a word for each 64 indices up to the largest; insert and contains are constant, the rest is linear in the words
// and the members.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// A set of processors, kept as a bitmap.
class processor_set {
 public:
  static constexpr std::uint32_t npos = ~std::uint32_t{0};  // no processor
  // Indices from here on are refused: a set is a bitmap, and no machine has so many processors.
  static constexpr std::uint32_t max_index = 1u << 20;

  processor_set() = default;
  // The set that is written like "0-3,8"; "" is the empty one. Throws bad_argument where it is written otherwise.
  static processor_set parse(std::string_view text);
  // The processors that the calling thread may run on. Throws not_supported where the kernel does not tell.
  static processor_set of_this_thread();

  // Adds a processor. Throws bad_argument from max_index on.
  void insert(std::uint32_t index);
  // Whether this processor is a member.
  [[nodiscard]] bool contains(std::uint32_t index) const noexcept;
  // Whether there is no member, and how many there are.
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;
  // The first member from `from` on, npos where there is none.
  [[nodiscard]] std::uint32_t first(std::uint32_t from = 0) const noexcept;
  // All members, the smallest first.
  [[nodiscard]] std::vector<std::uint32_t> members() const;

  // Whether all members of the other, or any of them, are in this one.
  [[nodiscard]] bool includes(const processor_set& other) const noexcept;
  [[nodiscard]] bool intersects(const processor_set& other) const noexcept;
  processor_set& operator|=(const processor_set& other);
  processor_set& operator&=(const processor_set& other);
  friend processor_set operator|(processor_set a, const processor_set& b) { return a |= b; }
  friend processor_set operator&(processor_set a, const processor_set& b) { return a &= b; }
  friend bool operator==(const processor_set&, const processor_set&) = default;

  // As parse() reads it: "0-3,8".
  [[nodiscard]] std::string to_string() const;

 private:
  void shrink();
  std::vector<std::uint64_t> words_;  // no zero words at the end, so that equal sets are equal vectors
};

}  // namespace situ::machine
