// The shape of a memory that computes, and the rectangles that programs allocate in it.
//
// Leidel, Wang and Chen (MCHPC 2017, sections 3.1 and 4.2): a device has banks of subarrays of rows of columns. The
// smallest unit of allocation, the granule, is one row of one subarray. A block is p neighbouring subarrays by q
// neighbouring rows. Subarrays are numbered through all banks: subarray s of bank b is b * subarrays + s. Values; cost:
// some arithmetic.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>

namespace situ::pim {

// The direction of a vector's elements. Horizontal: the bits of an element lie in neighbouring columns of one row.
// Vertical: they lie in neighbouring rows of one column.
enum class dimension : std::uint8_t { horizontal, vertical };

// The numbers of a device's parts, in the order of the paper's bmem_init.
struct geometry {
  std::uint32_t rows = 0;       // of a subarray
  std::uint32_t columns = 0;    // of a row: bits
  std::uint32_t subarrays = 0;  // of a bank
  std::uint32_t banks = 0;

  // Returns the number of subarrays of all banks.
  [[nodiscard]] constexpr std::uint32_t all_subarrays() const noexcept { return subarrays * banks; }
  // Returns the rows of all subarrays, the bytes of a row, and the bytes of all.
  [[nodiscard]] constexpr std::uint64_t granules() const noexcept { return std::uint64_t{all_subarrays()} * rows; }
  [[nodiscard]] constexpr std::uint64_t row_bytes() const noexcept { return columns / 8; }
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return granules() * row_bytes(); }
  friend bool operator==(const geometry&, const geometry&) = default;
};

// Throws bad_argument, naming the reason, unless all numbers are at least 1, columns is a multiple of 64, and there
// are at most 32767 subarrays in all and 65535 rows.
void check(const geometry& shape);

// A rectangle of granules.
struct block {
  std::uint32_t subarray = 0;  // the first one, numbered through all banks
  std::uint32_t row = 0;       // the first one
  std::uint32_t subarrays = 0;
  std::uint32_t rows = 0;

  // Returns the number of its granules.
  [[nodiscard]] constexpr std::uint64_t granules() const noexcept { return std::uint64_t{subarrays} * rows; }
  friend bool operator==(const block&, const block&) = default;
};

}  // namespace situ::pim
