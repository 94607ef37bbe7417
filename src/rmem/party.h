// One end of a connection of a server, without its socket: bytes that came in, bytes to be sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::rmem::detail {

class party {
 public:
  party() = default;
  virtual ~party() = default;
  party(const party&) = delete;
  party& operator=(const party&) = delete;

  // Where the next bytes of the other end go; empty: none are wanted now.
  [[nodiscard]] virtual std::span<std::byte> room() = 0;
  // So many have come there.
  virtual void received(std::size_t bytes) = 0;
  // What is to be sent next, the one before the other.
  using pieces = std::array<std::span<const std::byte>, 2>;
  [[nodiscard]] virtual pieces output() const noexcept = 0;
  virtual void sent(std::size_t bytes) = 0;
  // A descriptor that goes beside the next bytes of output; -1: none. passed(): it has gone.
  [[nodiscard]] virtual int passing() const noexcept { return -1; }
  virtual void passed() noexcept {}

  // The connection is to be closed once there is no output.
  [[nodiscard]] virtual bool has_ended() const noexcept = 0;
  [[nodiscard]] virtual bool is_logged_in() const noexcept = 0;
  // What the other end owes. `step` changes when a part that counts is done, a message or 256 KiB of a longer one: each
  // part has its own time, however its bytes come.
  struct debt {
    bool is_owed = false;
    std::uint64_t step = 0;
  };
  // The rest of a message, and taking what there is to be sent.
  [[nodiscard]] virtual debt owes_bytes() const noexcept = 0;
  [[nodiscard]] virtual debt owes_taking() const noexcept = 0;
  // Whether it is within a message: an end of the connection here has cut it.
  [[nodiscard]] virtual bool is_within_message() const noexcept = 0;
  // Whether it waits for other members of a chain: it is to be asked again when they have acknowledged something.
  [[nodiscard]] virtual bool is_held() const noexcept = 0;
  // Which stream to the next member it is; 0: none.
  [[nodiscard]] virtual std::uint64_t stream() const noexcept { return 0; }
};

}  // namespace situ::rmem::detail
