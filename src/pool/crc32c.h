// CRC-32C (Castagnoli): the checks of a pool's objects. By the processor's instructions where it has them.
//
// A sum here is the register of the division, without the inversions that many protocols have before and behind it. It
// is linear: the sums of two objects differ by what their difference makes alone. So who changes some bytes of an
// object needs no others of it, and a wrong sum stays wrong: crc32c_change. Finds each change of up to 5 bits in up to
// 655 bytes, of up to 3 bits in up to 256 MiB, and any others with probability 1 - 2^-32. Source: Koopman, "32-Bit
// Cyclic Redundancy Codes for Internet Applications" (DSN 2002), table 1; products by shifts as zlib's crc32_combine
// has them. Functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace situ::detail {

// How it is computed; both give the same.
enum class crc32c_way : std::uint8_t { tables, instructions };
// The best one that this processor has.
[[nodiscard]] crc32c_way best_crc32c_way() noexcept;

// The sum of what had the sum `sum`, with these bytes behind it. cost: some 3 cycles for each 8 bytes.
[[nodiscard]] std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes) noexcept;
[[nodiscard]] std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes,
                                          crc32c_way way) noexcept;
// What a sum changes by (exclusive or) where `bytes` of the whole are `after` and were `before`, and `behind` others
// lie behind them. cost: as that, and some 10 cycles for each doubling of what lies behind, beyond 256 bytes.
[[nodiscard]] std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes,
                                          std::uint64_t behind) noexcept;
[[nodiscard]] std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes,
                                          std::uint64_t behind, crc32c_way way) noexcept;
// The bit of `bytes` bytes that has to change for sums to differ so, counted from the lowest one of the first byte on;
// none: it takes several. cost: a cycle for each bit.
[[nodiscard]] std::optional<std::uint64_t> find_bit_by_crc32c(std::uint32_t difference, std::uint64_t bytes) noexcept;

}  // namespace situ::detail
