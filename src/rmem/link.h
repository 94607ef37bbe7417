// A client's connection to one server: bytes there and back, one request at a time. It connects when it is first used,
// and anew when the connection has ended. Not thread-safe.
#pragma once

#include <situ/rmem/client.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rmem/protocol.h"
#include "rmem/sockets.h"

namespace situ::rmem::detail {

// The answer to a request whose body is short.
struct short_answer {
  std::uint64_t value = 0;
  std::uint64_t second = 0;
  std::vector<std::byte> body;
};

class link {
 public:
  // where: asked when it connects; `anew` where what it said before leads nowhere any more. index: which server that
  // has to be; none: whichever is there.
  using finder = std::function<std::string(bool anew)>;
  link(finder where, std::optional<std::uint32_t> index, const application_key& key, const client_options& options)
      : where_{std::move(where)}, index_{index}, key_{key}, options_{options} {}

  // What the server told when it was connected to; connects.
  [[nodiscard]] const welcome& told();
  // A request and its answer; throws what the answer says, and link_lost.
  short_answer ask(request_head head, std::span<const std::byte> body = {});
  // A read of head.bytes, and a write of them.
  void read(request_head head, std::span<const std::byte> body, std::span<std::byte> to);
  void write(request_head head, std::span<const std::byte> body, std::span<const std::byte> from);

 private:
  void connect();
  void connect_to_endpoint(const std::string& endpoint);
  void log_in();
  void begin(request_head& head, std::span<const std::byte> body, std::span<const std::byte> data);
  void send(std::span<const std::byte> a, std::span<const std::byte> b = {}, std::span<const std::byte> c = {});
  void receive(std::span<std::byte> to);
  std::size_t receive_some(std::span<std::byte> to);
  answer_head receive_head(const request_head& asked);
  [[noreturn]] void refuse(const answer_head& head);
  [[noreturn]] void lose(const std::string& why);
  [[noreturn]] void disbelieve(const std::string& what);
  void close() noexcept;

  finder where_;
  std::optional<std::uint32_t> index_;
  const application_key& key_;
  const client_options& options_;
  std::string endpoint_;
  descriptor socket_;
  welcome told_{};
  std::uint64_t last_id_ = 0;
  std::array<std::byte, 8192> in_;  // bytes that came with others
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
};

}  // namespace situ::rmem::detail
