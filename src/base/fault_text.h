// Builds text without allocation, locks or library formatting: for signal handlers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace situ::detail {

// A line of text. Text beyond its capacity is dropped.
class fault_text {
 public:
  fault_text& operator<<(std::string_view text) noexcept {
    const std::size_t taken = std::min(text.size(), sizeof buffer_ - length_);
    std::memcpy(buffer_ + length_, text.data(), taken);
    length_ += taken;
    return *this;
  }
  fault_text& operator<<(std::uint64_t number) noexcept { return append(number, 10); }
  fault_text& hex(std::uint64_t number) noexcept {
    *this << "0x";
    return append(number, 16);
  }
  fault_text& bytes(std::uint64_t count) noexcept {
    const bool is_mib = count >= (1U << 20) && count % (1U << 20) == 0;
    return *this << count / (is_mib ? 1U << 20 : 1U << 10) << (is_mib ? "MiB" : "KiB");
  }
  [[nodiscard]] std::string_view text() const noexcept { return {buffer_, length_}; }

 private:
  fault_text& append(std::uint64_t number, unsigned base) noexcept {
    char digits[20];
    std::size_t at = sizeof digits;
    do digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    return *this << std::string_view{digits + at, sizeof digits - at};
  }
  char buffer_[600];
  std::size_t length_ = 0;
};

}  // namespace situ::detail
