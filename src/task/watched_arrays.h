// Staged arrays of checked graphs: an access that no unit under way has declared causes a fault, and this file writes
// the message for it, with unit, array and element.
#pragma once

#include <cstddef>

namespace situ::detail {

class staging;

// While it lives, faults within the array are explained. At most 64 arrays are watched at a time; faults in others end
// the program without a message. Thread-safe.
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
