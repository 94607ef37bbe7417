// Identifies the collective that a member calls. Messages carry it, so that members whose calls differ get an error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace situ::detail {

enum class collective_kind : std::uint8_t {
  none,
  barrier,
  broadcast,
  reduce,
  all_reduce,
  inclusive_scan,
  exclusive_scan,
  gather,
  all_gather,
  all_to_all,
  scatter,
  neighbour_exchange,
  sparse_exchange,
};

struct collective_call {
  collective_kind kind = collective_kind::none;
  std::uint16_t root = 0;
  std::uint32_t bytes = 0;  // of a value, or of a span's elements, if all values of the type have one size; else 0

  // | root:16 | kind:8 | bytes:24 |, which leaves room for an index above it in a word
  [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
    return std::uint64_t{root} << 32 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 24 |
           std::min(bytes, std::uint32_t{0xff'ffff});
  }
  [[nodiscard]] static constexpr collective_call unpacked(std::uint64_t word) noexcept {
    return {.kind = static_cast<collective_kind>(word >> 24 & 0xff),
            .root = static_cast<std::uint16_t>(word >> 32),
            .bytes = static_cast<std::uint32_t>(word & 0xff'ffff)};
  }
};

template <class T>
[[nodiscard]] constexpr collective_call collective_of(collective_kind kind, std::uint32_t root = 0,
                                                      std::size_t count = 1) noexcept {
  const std::size_t bytes = std::is_trivially_copyable_v<T> ? sizeof(T) * count : 0;
  return {.kind = kind,
          .root = static_cast<std::uint16_t>(root),
          .bytes = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX))};
}

}  // namespace situ::detail
