// A client's connection to one server: it sends one request at a time and receives the answer. It connects on first
// use, and again when the connection has ended. If a chain of replicas (views.h) has the server number and its first
// member is lost, the link sends the request again, to the new first member, and the chain does it once. Not
// thread-safe.
#pragma once

#include <situ/rmem/client.h>

#include <sys/types.h>

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

// A server's endpoint, as its name resolves.
struct server_place {
  std::string endpoint;
  std::uint64_t epoch = 0;  // of the view of its chain; 0: the server is no replica
  friend bool operator==(const server_place&, const server_place&) = default;
};

class link {
 public:
  // where: called to connect; with `anew` if the endpoint that it returned last leads nowhere. index: the server number
  // that the other end must have; nullopt: any.
  using finder = std::function<server_place(bool anew)>;
  link(finder where, std::optional<std::uint32_t> index, const application_key& key, const client_options& options)
      : where_{std::move(where)}, index_{index}, key_{key}, options_{options}, timeout_{options.timeout} {}
  // Leaves the server in order.
  ~link() { leave(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  // Returns the server's welcome; connects if there is no connection.
  [[nodiscard]] const welcome& told();
  // Sends a request and returns its answer; throws the error in the answer, and link_lost.
  short_answer ask(request_head head, std::span<const std::byte> body = {});
  // Read or write head.bytes bytes.
  void read(request_head head, std::span<const std::byte> body, std::span<std::byte> to);
  void write(request_head head, std::span<const std::byte> body, std::span<const std::byte> from);
  // Sends a read whose answer is received later: by finish_read(), or before the next request goes out. At most one is
  // under way: a second start_read() first finishes the first. `to` must live until then. Throws link_lost if the read
  // cannot be sent.
  void start_read(request_head head, std::span<std::byte> to);
  // Returns true if the bytes of the started read have arrived. The link does not retry it: if it was lost or refused,
  // a plain read reports the reason.
  [[nodiscard]] bool finish_read() noexcept;
  // Returns the file of a region's memory, or nullopt if the server passes none: over TCP, from replicas, or if its
  // memory cannot be passed.
  [[nodiscard]] std::optional<os::descriptor> ask_for_memory(request_head head);
  // connection() numbers the connection to the server; is_still() returns true if that one still stands; demand()
  // throws link_lost if not.
  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
  [[nodiscard]] bool is_still(std::uint64_t connection) noexcept;
  void demand(std::uint64_t connection);
  // Returns true if the last server was a member of a chain.
  [[nodiscard]] bool is_to_replicas() const noexcept { return epoch_ != 0; }
  // A released connection, with the bytes that were received and not yet read.
  struct taken_socket {
    os::descriptor socket;
    std::vector<std::byte> come;
  };
  [[nodiscard]] taken_socket release();

 private:
  // Calls `once` until it completes: more than once if replicas are lost.
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
  void leave() noexcept;
  void close() noexcept;

  finder where_;
  std::optional<std::uint32_t> index_;
  const application_key& key_;
  const client_options& options_;
  std::chrono::milliseconds timeout_;  // without any progress; shorter towards replicas, which may have been replaced
  std::string endpoint_;
  std::uint64_t epoch_ = 0;
  std::uint64_t client_ = 0;   // this client's number at replicas
  bool has_enrolled_ = false;  // at one of the replicas
  bool is_sent_ = false;       // a part of the current request has been sent
  bool was_closed_ = false;    // the server closed the last connection that was lost
  std::uint64_t silent_since_ns_ = 0;
  os::descriptor socket_;
  pid_t connected_by_ = 0;         // the process: a fork of it has the same socket, and must not leave
  std::uint64_t connection_ = 0;   // number of connections so far
  os::descriptor passed_;          // received, and not yet taken
  bool lacks_descriptor_ = false;  // a descriptor came, and this process had no number for it
  welcome told_{};
  std::uint64_t last_id_ = 0;
  std::optional<request_head> coming_;  // of start_read(), until its answer is received
  std::span<std::byte> coming_to_;
  bool has_come_ = false;
  std::array<std::byte, 8192> in_;  // bytes received and not yet read
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
};

}  // namespace situ::rmem::detail
