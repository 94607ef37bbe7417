// A capability gives access to remote memory: it names a range of bytes of one region and the rights on it. It holds a
// secret of 128 random bits that the server made and compares on every operation, so nobody can guess a capability or
// turn it into another one. Any holder of its bytes has the access. The server can end it (client::revoke). A value
// type. cost: no function here asks the server; texts are some 100 bytes.
#pragma once

#include <situ/base/detail/abi.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace situ::rmem {

// Operations that a capability allows on remote bytes; | combines rights into a set.
enum class rights : std::uint32_t {
  none = 0,
  read = 1,    // read, gather
  write = 2,   // write, scatter
  atomic = 4,  // fetch_add, compare_swap
  grant = 8,   // make further capabilities, with no more rights than this one
  all = 15,
};
[[nodiscard]] constexpr rights operator|(rights a, rights b) noexcept {
  return static_cast<rights>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
// Returns true if `all` has each right of `some`.
[[nodiscard]] constexpr bool includes(rights all, rights some) noexcept {
  return (static_cast<std::uint32_t>(some) & ~static_cast<std::uint32_t>(all)) == 0;
}
// Returns the rights as text: "read, write", or "none".
[[nodiscard]] std::string text_of(rights which);

// The part of a capability that cannot be guessed.
using capability_secret = std::array<std::byte, 16>;

// Access to the bytes [address, address + bytes) of remote memory. Except for `number` and `secret`, the fields inform
// the holder only: the server decides by its own copy.
struct capability {
  std::uint64_t address = 0;  // global; the top eight bits are the server's number
  std::uint64_t bytes = 0;
  rights may = rights::none;
  std::uint64_t number = 0;  // of the capability at its server
  capability_secret secret{};

  // Returns the capability as one word of 92 characters, to hand to another program. The word is a secret: keep it out
  // of argument lists and logs.
  [[nodiscard]] std::string to_text() const;
  // Reads a word that to_text() made. Throws bad_argument for any other text.
  [[nodiscard]] static capability parse(std::string_view text);
  // Returns a view of a sub-range that carries the same secret. To give someone access to only that part, use
  // client::grant. pre: the part lies within the capability's range; else throws bad_argument.
  [[nodiscard]] capability part(std::uint64_t offset, std::uint64_t part_bytes) const;

  friend bool operator==(const capability&, const capability&) = default;
};

}  // namespace situ::rmem
