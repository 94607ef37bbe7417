// Methods that were found lately, by selector and class. It holds no addresses, so a move of an object leaves it valid;
// a collection does not, nor does a change of a method.
#pragma once

#include "object_memory.h"

#include <array>
#include <cstdint>

namespace squeak {

class method_cache {
 public:
  struct alignas(32) entry {  // within one cache line
    oop selector = 0;
    oop of_class = 0;
    oop method = 0;
    std::uint32_t header = 0;     // the method's first word
    std::uint32_t primitive = 0;  // the header's, or guarded_entry
  };
  [[nodiscard]] entry& at(oop selector, oop of_class) {
    return entries_[((selector >> 1) ^ (of_class << 1)) % entries_.size()];
  }
  // to: what at() has returned.
  void fill(entry& to, const entry& found) {
    if (to.selector == 0) {
      if (used_ == numbers_.size()) flush();
      numbers_[used_++] = static_cast<std::uint16_t>(&to - entries_.data());
    }
    to = found;
  }
  // cost: by the methods found since the last flush; a place that gets the baton seldom has found few.
  void flush() {
    for (std::uint32_t i = 0; i < used_; ++i) entries_[numbers_[i]] = {};
    used_ = 0;
  }

 private:
  std::array<entry, 8192> entries_{};
  std::array<std::uint16_t, 2048> numbers_{};  // of the entries that are not empty
  std::uint32_t used_ = 0;
};

// Stands for the primitive of a method whose entry is a failure.
inline constexpr std::uint32_t guarded_entry = 2000;

// Returns the method for a selector in a class or its superclasses; 0: none.
[[nodiscard]] oop look_up(const object_memory& memory, oop of_class, oop selector);

}  // namespace squeak
