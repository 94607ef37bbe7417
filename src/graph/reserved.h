// Memory that grows: a range of addresses is reserved first, and the system allocates pages as they are touched.
#pragma once

#include <cstddef>

#include "os/mapping.h"

namespace situ::detail {

// Bytes of addresses for one such range: twice the need of the largest graph (32 GiB). ThreadSanitizer leaves a program
// less than 2 TiB.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t reserved_bytes = std::size_t{4} << 30;
#else
inline constexpr std::size_t reserved_bytes = std::size_t{64} << 30;
#endif

class reserved_memory {
 public:
  enum class growth {
    in_place,  // in one large range
    moving,    // from range to larger range; for up to a thousand objects, which would use up the addresses otherwise
  };
  explicit reserved_memory(growth how) noexcept : growth_{how} {}
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;

  // Returns the address of the bytes at `offset`, usable, zero if never written. Throws out_of_memory. May move the
  // memory.
  [[nodiscard]] void* at(std::size_t offset, std::size_t bytes) {
    if (offset + bytes > usable_) [[unlikely]]
      extend(offset + bytes);
    return range_.begin() + offset;
  }
  // Reserves a range of `bytes` on small pages, all of it usable; returns null if the system has not so many addresses.
  // Call it once, instead of at().
  [[nodiscard]] void* reserve_all(std::size_t bytes) noexcept;
  // Frees the pages beyond `bytes`; they are zero when used again.
  void shrink(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t usable_bytes() const noexcept { return usable_; }

 private:
  void move_to_larger_range(std::size_t least_bytes) noexcept;
  void extend(std::size_t bytes);
  growth growth_;
  os::mapping range_;
  std::size_t usable_ = 0;
};

}  // namespace situ::detail
