// What gives access to remote memory: a capability, which names a range of bytes of one region and what may be done to
// them. It holds a secret of 128 random bits that the server made and compares on every operation, so it cannot be
// guessed or changed into another one: whoever has its bytes has the access. The server can forget it (client::revoke).
// A value type. cost: nothing here asks the server; texts are some 100 bytes.
#pragma once

#include <situ/base/detail/abi.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace situ::rmem {

// What may be done to remote bytes; a set is made with |.
enum class rights : std::uint32_t {
  none = 0,
  read = 1,    // read, gather
  write = 2,   // write, scatter
  atomic = 4,  // fetch_add, compare_swap
  grant = 8,   // make further capabilities, of no more than this one
  all = 15,
};
[[nodiscard]] constexpr rights operator|(rights a, rights b) noexcept {
  return static_cast<rights>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
// Whether `all` has each right of `some`.
[[nodiscard]] constexpr bool includes(rights all, rights some) noexcept {
  return (static_cast<std::uint32_t>(some) & ~static_cast<std::uint32_t>(all)) == 0;
}
// "read, write"; "none".
[[nodiscard]] std::string text_of(rights which);

// The part of a capability that cannot be guessed.
using capability_secret = std::array<std::byte, 16>;

// Access to the bytes [address, address + bytes) of remote memory. What stands in it but for number and secret is for
// its holder: the server has its own copy, and believes that alone.
struct capability {
  std::uint64_t address = 0;  // the top eight bits say which server
  std::uint64_t bytes = 0;
  rights may = rights::none;
  std::uint64_t number = 0;  // at its server
  capability_secret secret{};

  // As one word of 92 characters, to be handed to another program: it is a secret, so not in an argument or a log.
  [[nodiscard]] std::string to_text() const;
  // Throws bad_argument for what to_text() does not write.
  [[nodiscard]] static capability parse(std::string_view text);
  // Access to a part of it, by the same secret: for whoever shall have no more, client::grant makes one.
  // pre: the part lies within it; else throws bad_argument.
  [[nodiscard]] capability part(std::uint64_t offset, std::uint64_t part_bytes) const;

  friend bool operator==(const capability&, const capability&) = default;
};

}  // namespace situ::rmem
