// One end of a server's connection, without its socket: it takes the received bytes and provides the bytes to send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace situ::rmem::detail {

class party {
 public:
  party() = default;
  virtual ~party() = default;
  party(const party&) = delete;
  party& operator=(const party&) = delete;

  // Returns the buffer for the next bytes of the other end; empty: it takes none now.
  [[nodiscard]] virtual std::span<std::byte> room() = 0;
  // Takes `bytes` bytes that were received into room().
  virtual void received(std::size_t bytes) = 0;
  // The bytes to send next; the first piece goes before the second.
  using pieces = std::array<std::span<const std::byte>, 2>;
  [[nodiscard]] virtual pieces output() const noexcept = 0;
  virtual void sent(std::size_t bytes) = 0;
  // Returns the descriptor to pass with the next bytes of output; -1: none. passed() reports that it was sent.
  [[nodiscard]] virtual int passing() const noexcept { return -1; }
  virtual void passed() noexcept {}

  // Returns true if the connection is to be closed once there is no output.
  [[nodiscard]] virtual bool has_ended() const noexcept = 0;
  [[nodiscard]] virtual bool is_logged_in() const noexcept = 0;
  // A debt of the other end. `step` changes when the other end completes a part: a message, or 256 KiB of a longer one.
  // Each part has its own time limit, however its bytes arrive.
  struct debt {
    bool is_owed = false;
    std::uint64_t step = 0;
  };
  // Return the debts of the other end: to send the rest of a message, and to receive the output.
  [[nodiscard]] virtual debt owes_bytes() const noexcept = 0;
  [[nodiscard]] virtual debt owes_taking() const noexcept = 0;
  // Returns true within a message: if the connection ends now, the message is cut.
  [[nodiscard]] virtual bool is_within_message() const noexcept = 0;
  // Returns true if the party waits for other members of a chain: the caller asks again when they have acknowledged.
  [[nodiscard]] virtual bool is_held() const noexcept = 0;
  // The connection is over, by the other end or since the server has given it up, for the reason `why`. Reports the
  // loss, unless the other end has left in order. Called at most once.
  virtual void lost(std::string_view why) = 0;
  // Returns the number of the stream to the next member that this party is; 0: none.
  [[nodiscard]] virtual std::uint64_t stream() const noexcept { return 0; }
};

}  // namespace situ::rmem::detail
