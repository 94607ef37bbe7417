#include "pool/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace situ::detail {
namespace {

// Polynomials have their highest power in the lowest bit.
constexpr std::uint32_t crc_polynomial = 0x82f63b78;
constexpr std::uint32_t crc_one = std::uint32_t{1} << 31;

constexpr std::uint32_t times_x(std::uint32_t sum) { return sum >> 1 ^ ((sum & 1) != 0 ? crc_polynomial : 0); }
constexpr std::uint32_t times_power_of_x(std::uint32_t sum, unsigned power) {
  for (; power != 0; --power) sum = times_x(sum);
  return sum;
}
// Returns a * b * x^32, as the instructions do.
constexpr std::uint32_t multiply_by_shifts(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = crc_one; bit != 0; bit >>= 1, b = times_x(b)) product ^= (a & bit) != 0 ? b : 0;
  return times_power_of_x(product, 32);
}

// Longer runs of zeroes are added to a sum by products, each of which takes as long as some 50 bytes.
constexpr unsigned crc_step_log2 = 8;
// x^(8 * 2^i - 32), i from crc_step_log2 on: the factor of a sum for 2^i bytes.
constexpr auto crc_steps = [] {
  std::array<std::uint32_t, 64 - 3 - crc_step_log2> steps{};
  steps[0] = times_power_of_x(crc_one, (8u << crc_step_log2) - 32);
  for (std::size_t i = 1; i < steps.size(); ++i) steps[i] = multiply_by_shifts(steps[i - 1], steps[i - 1]);
  return steps;
}();

constexpr auto crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) table[byte] = times_power_of_x(byte, 8);
  return table;
}();

// The summed bytes: word() returns up to 8 of them, from number `at` on.
struct crc_bytes {
  const std::byte* from;
  std::uint64_t word(std::size_t at, std::size_t bytes = 8) const {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, bytes);
    return word;
  }
};
struct crc_difference {
  crc_bytes before;
  crc_bytes after;
  std::uint64_t word(std::size_t at, std::size_t bytes = 8) const {
    return before.word(at, bytes) ^ after.word(at, bytes);
  }
};
struct crc_zeroes {
  static std::uint64_t word(std::size_t, std::size_t = 8) { return 0; }
};

struct crc_by_tables {
  static std::uint32_t add_byte(std::uint32_t sum, std::uint8_t byte) {
    return sum >> 8 ^ crc_table[(sum ^ byte) & 0xff];
  }
  template <class Bytes>
  static std::uint32_t add(std::uint32_t sum, const Bytes& of, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) sum = add_byte(sum, static_cast<std::uint8_t>(of.word(i, 1)));
    return sum;
  }
  static std::uint32_t multiply(std::uint32_t a, std::uint32_t b) { return multiply_by_shifts(a, b); }
};

#if defined(__x86_64__)
#define SITU_CRC_TARGET __attribute__((target("sse4.2,pclmul")))

struct crc_by_instructions {
  template <class Bytes>
  SITU_CRC_TARGET static std::uint32_t add(std::uint32_t sum, const Bytes& of, std::size_t bytes) {
    std::uint64_t wide = sum;
    const std::size_t words = bytes / 8;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < words; ++i) wide = _mm_crc32_u64(wide, of.word(i * 8));
    sum = static_cast<std::uint32_t>(wide);
    for (std::size_t at = words * 8; at != bytes; ++at)
      sum = _mm_crc32_u8(sum, static_cast<std::uint8_t>(of.word(at, 1)));
    return sum;
  }
  SITU_CRC_TARGET static std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0);
    // The product has 63 bits; the instruction wants the highest power in the lowest of 64, and multiplies by x^32.
    return static_cast<std::uint32_t>(_mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)) << 1));
  }
};
#undef SITU_CRC_TARGET
#else
using crc_by_instructions = crc_by_tables;
#endif

template <class Way>
std::uint32_t sum_of_change(const crc_difference& of, std::size_t bytes, std::uint64_t behind) {
  std::uint32_t sum = Way::add(0, of, bytes);
  for (std::size_t i = 0; behind >> crc_step_log2 >> i != 0; ++i)
    if ((behind >> crc_step_log2 >> i & 1) != 0) sum = Way::multiply(sum, crc_steps[i]);
  return Way::add(sum, crc_zeroes{}, behind & ((1u << crc_step_log2) - 1));
}

// Until it is initialized it is `tables`, which is also correct.
const crc32c_way best_way = [] {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0) return crc32c_way::instructions;
#endif
  return crc32c_way::tables;
}();

}  // namespace

crc32c_way best_crc32c_way() noexcept { return best_way; }

std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes, crc32c_way way) noexcept {
  const crc_bytes of{static_cast<const std::byte*>(from)};
  return way == crc32c_way::instructions ? crc_by_instructions::add(sum, of, bytes)
                                         : crc_by_tables::add(sum, of, bytes);
}
std::uint32_t add_to_crc32c(std::uint32_t sum, const void* from, std::size_t bytes) noexcept {
  return add_to_crc32c(sum, from, bytes, best_way);
}

std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes, std::uint64_t behind,
                            crc32c_way way) noexcept {
  const crc_difference of{{static_cast<const std::byte*>(before)}, {static_cast<const std::byte*>(after)}};
  return way == crc32c_way::instructions ? sum_of_change<crc_by_instructions>(of, bytes, behind)
                                         : sum_of_change<crc_by_tables>(of, bytes, behind);
}
std::uint32_t crc32c_change(const void* before, const void* after, std::size_t bytes, std::uint64_t behind) noexcept {
  return crc32c_change(before, after, bytes, behind, best_way);
}

std::optional<std::uint64_t> find_bit_by_crc32c(std::uint32_t difference, std::uint64_t bytes) noexcept {
  // The last bit, the highest of the last byte, changes a sum by the polynomial itself.
  std::uint32_t made = crc_polynomial;
  for (std::uint64_t bit = bytes * 8; bit != 0; --bit, made = times_x(made))
    if (made == difference) return bit - 1;
  return std::nullopt;
}

}  // namespace situ::detail
