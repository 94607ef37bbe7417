// A client's connection to one server: bytes there and back, one request at a time. It connects when it is first used,
// and anew when the connection has ended. To a server number that a chain of replicas has (views.h) it sends a request
// again where the first of them is lost, to whoever is first by then, which does it once. Not thread-safe.
#pragma once

#include <situ/rmem/client.h>

#include <chrono>
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

// Where a server is, by its name.
struct server_place {
  std::string endpoint;
  std::uint64_t epoch = 0;  // of the view of its chain; 0: it is no replica
  friend bool operator==(const server_place&, const server_place&) = default;
};

class link {
 public:
  // where: asked when it connects; `anew` where what it said before leads nowhere any more. index: which server that
  // has to be; none: whichever is there.
  using finder = std::function<server_place(bool anew)>;
  link(finder where, std::optional<std::uint32_t> index, const application_key& key, const client_options& options)
      : where_{std::move(where)}, index_{index}, key_{key}, options_{options}, timeout_{options.timeout} {}

  // What the server told when it was connected to; connects.
  [[nodiscard]] const welcome& told();
  // A request and its answer; throws what the answer says, and link_lost.
  short_answer ask(request_head head, std::span<const std::byte> body = {});
  // A read of head.bytes, and a write of them.
  void read(request_head head, std::span<const std::byte> body, std::span<std::byte> to);
  void write(request_head head, std::span<const std::byte> body, std::span<const std::byte> from);
  // A read whose answer is taken in later: by finish_read(), or before the next request goes out. One at a time; one
  // before it is finished first. `to` lives until then. Throws link_lost where it cannot be sent.
  void start_read(request_head head, std::span<std::byte> to);
  // Whether its bytes are there. It is not tried again: where it was lost or refused, a read says why.
  [[nodiscard]] bool finish_read() noexcept;
  // The file of a region's memory. None where it does not come: over TCP, from replicas, where the server has none to
  // pass.
  [[nodiscard]] std::optional<descriptor> ask_for_memory(request_head head);
  // Which connection to the server this is, whether it is the same one by now, and stands; throws link_lost where not.
  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
  [[nodiscard]] bool is_still(std::uint64_t connection) noexcept;
  void demand(std::uint64_t connection);
  // Whether the last server was one of a chain.
  [[nodiscard]] bool is_to_replicas() const noexcept { return epoch_ != 0; }
  // The connection, which is this link's no more, with what has come by it and nobody has read.
  struct taken_socket {
    descriptor socket;
    std::vector<std::byte> come;
  };
  [[nodiscard]] taken_socket release();

 private:
  // Calls `once` until it comes to an end; where replicas are lost, more than once.
  template <class Once>
  auto carry_on(request_head& head, const Once& once);
  void connect();
  void connect_to_place(const server_place& place);
  [[nodiscard]] bool try_place(const server_place& place, bool is_last);
  void enroll();
  [[nodiscard]] bool has_moved();
  [[nodiscard]] bool stands() noexcept;
  [[nodiscard]] bool is_still_first();
  void log_in();
  void begin(request_head& head, std::span<const std::byte> body, std::span<const std::byte> data);
  void send(std::span<const std::byte> a, std::span<const std::byte> b = {}, std::span<const std::byte> c = {});
  void receive(std::span<std::byte> to);
  std::size_t receive_some(std::span<std::byte> to);
  answer_head receive_head(const request_head& asked);
  void receive_bytes(const request_head& asked, std::span<std::byte> to);
  void take_in_coming() noexcept;
  [[noreturn]] void refuse(const answer_head& head);
  [[noreturn]] void lose(const std::string& why);
  [[noreturn]] void disbelieve(const std::string& what);
  void close() noexcept;

  finder where_;
  std::optional<std::uint32_t> index_;
  const application_key& key_;
  const client_options& options_;
  std::chrono::milliseconds timeout_;  // without any progress; shorter towards replicas, who may have been replaced
  std::string endpoint_;
  std::uint64_t epoch_ = 0;
  std::uint64_t client_ = 0;   // its number at replicas
  bool has_enrolled_ = false;  // at one of them
  bool is_sent_ = false;       // some of the request that goes on
  bool was_closed_ = false;    // the last connection that was lost, by the server
  std::uint64_t silent_since_ns_ = 0;
  descriptor socket_;
  std::uint64_t connection_ = 0;   // how many there have been
  descriptor passed_;              // that has come, and nobody has taken
  bool lacks_descriptor_ = false;  // one came, and this process had none for it
  welcome told_{};
  std::uint64_t last_id_ = 0;
  std::optional<request_head> coming_;  // of start_read(), until it is taken in
  std::span<std::byte> coming_to_;
  bool has_come_ = false;
  std::array<std::byte, 8192> in_;  // bytes that came with others
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
};

}  // namespace situ::rmem::detail
