// The first message of a host server to the process that starts it: its address, or the reason why there is none. One
// message of a socket. Once all addresses are known the starter answers with one byte (begin).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail::cluster {

struct server_greeting {
  enum class what : std::uint8_t { refusal, address };
  // begin::watching: the starter stays at the socket's other end as long as there is a job; if it ends, the places of
  // the host end.
  enum class begin : char { alone = 1, watching };
  static constexpr std::size_t most_bytes = 4096;

  [[nodiscard]] static std::vector<std::byte> pack(what is, std::span<const std::byte> bytes) {
    const std::size_t taken = std::min(bytes.size(), most_bytes - 1);
    std::vector<std::byte> all(1 + taken);
    all[0] = static_cast<std::byte>(is);
    std::copy_n(bytes.begin(), taken, all.begin() + 1);
    return all;
  }
};

}  // namespace situ::detail::cluster
