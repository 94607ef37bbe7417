// The rounds of a test end after a second: on a busy machine each waits for threads that have no processor.
#pragma once

#include <chrono>

namespace situ::test {

class one_second {
 public:
  [[nodiscard]] bool is_left() const { return std::chrono::steady_clock::now() - began_ < std::chrono::seconds{1}; }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace situ::test
