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

// A set of processors, stored as a bitmap.
class processor_set {
 public:
  static constexpr std::uint32_t npos = ~std::uint32_t{0};  // no processor
  // Functions refuse indices from here on: a set is a bitmap, and no machine has so many processors.
  static constexpr std::uint32_t max_index = 1u << 20;

  processor_set() = default;
  // Parses a set such as "0-3,8"; "" is the empty set. Throws bad_argument if the text has another form.
  static processor_set parse(std::string_view text);
  // Returns the processors that the calling thread may run on. Throws not_supported if the kernel does not report them.
  static processor_set of_this_thread();

  // Adds a processor. Throws bad_argument if index >= max_index.
  void insert(std::uint32_t index);
  // Returns whether this processor is a member.
  [[nodiscard]] bool contains(std::uint32_t index) const noexcept;
  // empty() returns whether there is no member, size() the number of members.
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;
  // Returns the first member >= `from`, or npos.
  [[nodiscard]] std::uint32_t first(std::uint32_t from = 0) const noexcept;
  // Returns all members in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> members() const;

  // includes() returns whether all members of the other set are in this one, intersects() whether any of them is.
  [[nodiscard]] bool includes(const processor_set& other) const noexcept;
  [[nodiscard]] bool intersects(const processor_set& other) const noexcept;
  processor_set& operator|=(const processor_set& other);
  processor_set& operator&=(const processor_set& other);
  friend processor_set operator|(processor_set a, const processor_set& b) { return a |= b; }
  friend processor_set operator&(processor_set a, const processor_set& b) { return a &= b; }
  friend bool operator==(const processor_set&, const processor_set&) = default;

  // Returns the set in the form that parse() reads: "0-3,8".
  [[nodiscard]] std::string to_string() const;

 private:
  void shrink();
  std::vector<std::uint64_t> words_;  // no zero words at the end, so that equal sets are equal vectors
};

}  // namespace situ::machine
