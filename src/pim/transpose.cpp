#include "pim/transpose.h"

#include <algorithm>
#include <cstring>

#if SITU_PIM_X86
#include <immintrin.h>
#endif

namespace situ::pim {
namespace {

constexpr unsigned group = 64;  // elements

// Transposes 8 x 8 bits: bit j of byte i becomes bit i of byte j (Warren, Hacker's Delight, section 7-3).
SITU_PIM_BODY std::uint64_t transpose_bits(std::uint64_t x) noexcept {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x = x ^ t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x = x ^ t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ t ^ (t << 28);
}

// bytes[k][i] = byte k of element i, for the bytes that have one of the lowest `bits` bits.
template <unsigned Bytes>
SITU_PIM_BODY void split(const std::byte* elements, unsigned used, std::uint8_t (*bytes)[group]) noexcept {
  const auto* from = reinterpret_cast<const std::uint8_t*>(elements);
  for (unsigned k = 0; k < used; ++k)
    for (unsigned i = 0; i < group; ++i) bytes[k][i] = from[i * Bytes + k];
}

SITU_PIM_BODY void split(const std::byte* elements, unsigned host_bytes, unsigned used,
                         std::uint8_t (*bytes)[group]) noexcept {
  switch (host_bytes) {
    case 1: return split<1>(elements, used, bytes);
    case 2: return split<2>(elements, used, bytes);
    case 4: return split<4>(elements, used, bytes);
    default: return split<8>(elements, used, bytes);
  }
}

void to_planes_portable(const std::byte* elements, unsigned host_bytes, unsigned bits, std::uint64_t* planes,
                        std::size_t stride) noexcept {
  alignas(64) std::uint8_t bytes[8][group];
  split(elements, host_bytes, (bits + 7) / 8, bytes);
  for (unsigned low = 0; low < bits; low += 8) {
    std::uint64_t turned[8];
    std::memcpy(turned, bytes[low / 8], sizeof turned);
    for (std::uint64_t& eight : turned) eight = transpose_bits(eight);
    for (unsigned k = 0; k < std::min(8U, bits - low); ++k) {
      std::uint64_t plane = 0;
      for (unsigned j = 0; j < 8; ++j) plane |= ((turned[j] >> (8 * k)) & 0xff) << (8 * j);
      planes[(low + k) * stride] = plane;
    }
  }
}

#if SITU_PIM_X86
SITU_PIM_AVX2 void to_planes_avx2(const std::byte* elements, unsigned host_bytes, unsigned bits, std::uint64_t* planes,
                                  std::size_t stride) noexcept {
  alignas(64) std::uint8_t bytes[8][group];
  split(elements, host_bytes, (bits + 7) / 8, bytes);
  for (unsigned low = 0; low < bits; low += 8) {
    __m256i first = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes[low / 8]));
    __m256i second = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes[low / 8] + group / 2));
    // The highest bit of each byte is what movemask takes.
    for (unsigned k = 8; k-- > 0;) {
      if (low + k < bits)
        planes[(low + k) * stride] = static_cast<std::uint32_t>(_mm256_movemask_epi8(first)) |
                                     std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(second))}
                                         << (group / 2);
      first = _mm256_add_epi8(first, first);
      second = _mm256_add_epi8(second, second);
    }
  }
}
#endif

// elements[i] = its bytes, byte k of which is bytes[k][i].
template <class Element>
SITU_PIM_BODY void join(const std::uint8_t (*bytes)[group], std::byte* elements) noexcept {
  Element joined[group];
  for (unsigned i = 0; i < group; ++i) joined[i] = bytes[0][i];
  for (unsigned k = 1; k < sizeof(Element); ++k)
    for (unsigned i = 0; i < group; ++i)
      joined[i] = static_cast<Element>(joined[i] | static_cast<Element>(bytes[k][i]) << (8 * k));
  std::memcpy(elements, joined, sizeof joined);
}

// The bytes of a column of 8 x 64 bits: byte i gets bit i of each plane.
SITU_PIM_BODY void turn(const std::uint64_t (&planes)[8], std::uint8_t* bytes) noexcept {
  std::uint64_t turned[8] = {};
  for (unsigned b = 0; b < 8; ++b)
    for (unsigned j = 0; j < 8; ++j) turned[j] |= ((planes[b] >> (8 * j)) & 0xff) << (8 * b);
  for (std::uint64_t& eight : turned) eight = transpose_bits(eight);
  std::memcpy(bytes, turned, sizeof turned);
}

SITU_PIM_BODY void from_planes_body(const std::uint64_t* planes, std::size_t stride, unsigned bits, bool sign_extends,
                                    unsigned host_bytes, std::byte* elements) noexcept {
  alignas(64) std::uint8_t bytes[8][group];
  const std::uint64_t above = sign_extends ? planes[(bits - 1) * stride] : 0;
  for (unsigned k = 0; k < host_bytes; ++k) {
    std::uint64_t eight[8];
    for (unsigned b = 0; b < 8; ++b) eight[b] = 8 * k + b < bits ? planes[(8 * k + b) * stride] : above;
    turn(eight, bytes[k]);
  }
  switch (host_bytes) {
    case 1: return join<std::uint8_t>(bytes, elements);
    case 2: return join<std::uint16_t>(bytes, elements);
    case 4: return join<std::uint32_t>(bytes, elements);
    default: return join<std::uint64_t>(bytes, elements);
  }
}

#if SITU_PIM_X86
SITU_PIM_AVX2 void from_planes_avx2(const std::uint64_t* planes, std::size_t stride, unsigned bits, bool sign_extends,
                                    unsigned host_bytes, std::byte* elements) noexcept {
  from_planes_body(planes, stride, bits, sign_extends, host_bytes, elements);
}
SITU_PIM_AVX512 void from_planes_avx512(const std::uint64_t* planes, std::size_t stride, unsigned bits,
                                        bool sign_extends, unsigned host_bytes, std::byte* elements) noexcept {
  from_planes_body(planes, stride, bits, sign_extends, host_bytes, elements);
}
#endif

}  // namespace

void to_planes(instruction_set set, const std::byte* elements, unsigned host_bytes, unsigned bits,
               std::uint64_t* planes, std::size_t stride) noexcept {
#if SITU_PIM_X86
  if (set != instruction_set::portable) return to_planes_avx2(elements, host_bytes, bits, planes, stride);
#endif
  (void)set;
  to_planes_portable(elements, host_bytes, bits, planes, stride);
}

void from_planes(instruction_set set, const std::uint64_t* planes, std::size_t stride, unsigned bits, bool sign_extends,
                 unsigned host_bytes, std::byte* elements) noexcept {
#if SITU_PIM_X86
  if (set == instruction_set::avx512)
    return from_planes_avx512(planes, stride, bits, sign_extends, host_bytes, elements);
  if (set == instruction_set::avx2) return from_planes_avx2(planes, stride, bits, sign_extends, host_bytes, elements);
#endif
  (void)set;
  from_planes_body(planes, stride, bits, sign_extends, host_bytes, elements);
}

}  // namespace situ::pim
