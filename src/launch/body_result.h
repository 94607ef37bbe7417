// The result of situ::launch's body, in the slot of each place, for a launcher that cannot ask the kernel. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace situ::detail {

struct body_result {
  void set(std::int32_t code) noexcept { after_code.store(static_cast<std::uint32_t>(code) + 1); }
  // Returns -1 if there is none yet.
  [[nodiscard]] std::int32_t get() const noexcept { return static_cast<std::int32_t>(after_code.load() - 1); }

  std::atomic<std::uint32_t> after_code{0};  // the code + 1
};

}  // namespace situ::detail
