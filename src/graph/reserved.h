// Memory that grows: a range of addresses is reserved at first, and the system gives pages as they are touched.
#pragma once

#include <cstddef>

namespace situ::detail {

// Addresses for one such range: twice what the largest graph (32 GiB) can need. ThreadSanitizer leaves a program less
// than 2 TiB.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t reserved_bytes = std::size_t{4} << 30;
#else
inline constexpr std::size_t reserved_bytes = std::size_t{64} << 30;
#endif

class reserved_memory {
 public:
  enum class growth {
    in_place,  // of one large range
    moving,    // from range to larger range. For what there may be a thousand of: they would use up the addresses
  };
  explicit reserved_memory(growth how) noexcept : growth_{how} {}
  ~reserved_memory();
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;

  // The bytes at `offset`, usable, zero where never written. Throws out_of_memory. All may have moved.
  [[nodiscard]] void* at(std::size_t offset, std::size_t bytes) {
    if (offset + bytes > usable_) [[unlikely]]
      extend(offset + bytes);
    return base_ + offset;
  }
  // All of a range of `bytes`, usable, on small pages; null where there are not so many addresses. Once, instead of
  // at().
  [[nodiscard]] void* reserve_all(std::size_t bytes) noexcept;
  // Gives pages beyond `bytes` back; they are zero from then on.
  void shrink(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t usable_bytes() const noexcept { return usable_; }

 private:
  void move_to_larger_range(std::size_t least_bytes) noexcept;
  void extend(std::size_t bytes);
  growth growth_;
  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t usable_ = 0;
};

}  // namespace situ::detail
