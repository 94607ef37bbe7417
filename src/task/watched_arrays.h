// Staged arrays of checked graphs: an access that no unit under way has declared is a fault there, and the words for it
// name unit, array and element.
#pragma once

#include <cstddef>

namespace situ::detail {

class staging;

// While it lives, faults within the array are explained. Of 64 at a time; those of further ones end the program without
// words. Thread-safe.
class watched_array {
 public:
  explicit watched_array(const staging& array) noexcept;
  ~watched_array();
  watched_array(const watched_array&) = delete;
  watched_array& operator=(const watched_array&) = delete;

 private:
  std::size_t at_;
};

}  // namespace situ::detail
