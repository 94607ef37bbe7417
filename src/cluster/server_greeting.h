// What a host server says to who starts it: its address, or why there is none. One message of a socket. And what it is
// told once all addresses are known: a byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail::cluster {

struct server_greeting {
  enum class what : std::uint8_t { refusal, address };
  // begin::watching: who starts it stays at the socket's other end as long as there is a job, and with it the places of
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
