// CRC-32C (Castagnoli) for the checks of a pool's objects, computed by the processor's instructions if it has them.
//
// A sum is the register of the division, without the inversions that many protocols add at both ends. It is linear: the
// sums of two objects differ by a value that depends on their difference alone. So a change of some bytes updates the
// sum without reading the others, and a wrong sum stays wrong: crc32c_change. The sum finds each change of up to 5 bits
// in up to 655 bytes, of up to 3 bits in up to 256 MiB, and any other change with probability 1 - 2^-32. Source:
// Koopman, "32-Bit Cyclic Redundancy Codes for Internet Applications" (DSN 2002), table 1; products by shifts as in
// zlib's crc32_combine. Functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace situ::detail {

// Ways of computing a sum, with equal results.
enum class crc32c_way : std::uint8_t { tables, instructions };
// Returns the fastest way that this processor has.
[[nodiscard]] crc32c_way best_crc32c_way() noexcept;

// Extends a sum by these bytes. cost: some 3 cycles for each 8 bytes.
[[nodiscard]] std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes) noexcept;
[[nodiscard]] std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes,
                                          crc32c_way way) noexcept;
// Returns the change of a sum (exclusive or) if `bytes` bytes change from `before` to `after`, and `behind` more bytes
// follow them. cost: as add_to_crc32c, and some 10 cycles for each doubling of `behind` beyond 256 bytes.
[[nodiscard]] std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes,
                                          std::uint64_t behind) noexcept;
[[nodiscard]] std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes,
                                          std::uint64_t behind, crc32c_way way) noexcept;
// Returns the one bit of `bytes` bytes whose change explains this difference of sums, counted from the lowest bit of
// the first byte; nullopt if no single bit does. cost: a cycle for each bit.
[[nodiscard]] std::optional<std::uint64_t> find_bit_by_crc32c(std::uint32_t difference, std::uint64_t bytes) noexcept;

}  // namespace situ::detail
