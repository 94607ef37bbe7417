// What a server does for its clients, without any socket: applications, counters, names, and the operations that are
// answered at once. Reads and writes are done by sessions, piece by piece, since their bytes come and go as sockets
// have room. Not thread-safe.
#pragma once

#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmem/client_table.h"
#include "rmem/memory_table.h"
#include "rmem/protocol.h"
#include "rmem/replica.h"
#include "rmem/sockets.h"
#include "rmem/views.h"

namespace situ::rmem::detail {

class session;

// An operation's answer, but for the request's id; the body is short.
struct answer {
  detail::status status = status::ok;
  std::uint64_t value = 0;
  std::uint64_t second = 0;
  std::vector<std::byte> body;
};
[[nodiscard]] answer refusal(status why, std::string_view text);

// Who asks.
struct asker {
  std::uint64_t session = 0;
  application_index application = 0;
  std::uint64_t client = 0;  // that has enrolled; 0: none has
};

class service : private replica_state {
 public:
  // most_clients: at a time; half of them, and one at least, of one application.
  service(std::uint32_t server, std::uint64_t capacity_bytes, const memory_kind& kind,
          std::vector<application_key> keys, std::uint32_t most_clients);

  // Which application's key makes this proof; any_application: none's, which is counted.
  [[nodiscard]] application_index prove(const hello& said, const login& heard) noexcept;
  // One more of its clients; false where there are too many, which is counted.
  [[nodiscard]] bool enter(application_index which) noexcept;
  void exit(application_index which) noexcept;
  [[nodiscard]] const application_key& key_of(application_index which) const noexcept { return keys_[which]; }
  [[nodiscard]] std::uint32_t server() const noexcept { return server_; }

  // What time it is, of a clock that does not go back. Whoever waits for sockets says so after each wait.
  void set_now(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  // From here on it is a member of a chain, or a spare one: it serves when and as long as it is told to. index:
  // any_server for a spare. The lease of those who have this as their name server.
  void become_replica(std::uint64_t node, std::uint32_t index, std::uint32_t replicas, std::string_view endpoint);
  void set_lease(std::uint32_t milliseconds) { views_ = view_keeper{milliseconds}; }
  // How long what ends with a client of replicas waits for it to come again.
  void set_patience(std::chrono::nanoseconds with_absent) {
    patience_ns_ = static_cast<std::uint64_t>(with_absent.count());
  }
  [[nodiscard]] replica* member() noexcept { return member_ ? &*member_ : nullptr; }
  // Whether memory is served by this process now.
  [[nodiscard]] bool is_serving() const noexcept { return !member_ || member_->is_serving(now_ns_); }
  // From time to time.
  void look();
  // Every session has ended with the end of serving: whoever has their sockets is to look after them.
  [[nodiscard]] bool take_ended() noexcept { return std::exchange(has_ended_sessions_, false); }

  // Any operation but read and write.
  [[nodiscard]] answer perform(const asker& who, const request_head& head, std::span<const std::byte> body);
  // The answer to a request of an enrolled client that has been done already.
  [[nodiscard]] std::optional<answer> repeated(const asker& who, const request_head& head) const;
  // A descriptor of a region's memory, for the connection that it ends with, or for a reader. Of a member of a chain
  // nothing is passed: changes that come by no message would not reach the others, and reads would see those that not
  // all have.
  [[nodiscard]] answer pass_memory(const asker& who, const request_head& head, descriptor& file);
  // Bytes that a write has put into regions go to the next member; with the last of a request, so does its answer.
  void publish_bytes(std::span<const range> where, std::span<const std::byte> data, const asker& who,
                     const request_head& head, bool is_last);
  [[nodiscard]] memory_table& memory() noexcept { return memory_; }
  [[nodiscard]] statistics& counters() noexcept { return counters_; }
  // With what the tables hold now.
  [[nodiscard]] statistics counted() const;

  // Sessions that may be sending bytes of a region right now.
  void join(session& one) { sessions_.push_back(&one); }
  // And all that ends with it: names, regions.
  void leave(session& one, std::uint64_t number);
  // Where data goes that has no place. It is never read.
  [[nodiscard]] std::span<std::byte> thrown_away() noexcept { return thrown_away_; }

 private:
  struct linked_name {
    std::string endpoint;
    std::uint64_t session;
    application_index by;
  };
  static constexpr std::uint32_t usual_lease_ms = 400;
  static constexpr std::size_t most_names = 4096;
  static constexpr std::size_t most_names_of_one = 64;

  answer allocate(const asker& who, const request_head& head);
  answer free(const asker& who, const request_head& head);
  answer change_word(const asker& who, const request_head& head, std::span<const std::byte> body);
  answer grant(const asker& who, const request_head& head, std::span<const std::byte> body);
  answer revoke(const asker& who, const request_head& head);
  answer list_regions(const asker& who, const request_head& head) const;
  answer link_name(const asker& who, std::span<const std::byte> body);
  answer unlink_name(const asker& who, std::span<const std::byte> body);
  answer resolve_name(std::span<const std::byte> body);
  answer list_names(std::span<const std::byte> body);
  [[nodiscard]] application_index application_of(std::string_view name) const noexcept;
  void end_region(std::uint64_t address);
  // What sessions have begun to send of these bytes is theirs from here on.
  void detach(std::span<const std::byte> from);
  answer count(answer made) noexcept;
  answer perform_here(const asker& who, const request_head& head, std::span<const std::byte> body);
  answer enroll(const asker& who, const request_head& head);
  answer beat(const asker& who, std::span<const std::byte> body);
  answer drain(const asker& who, std::span<const std::byte> body);
  answer list_views();
  [[nodiscard]] const view_entry* view_of(std::string_view server_name);
  void publish(const asker& who, const request_head& head, const answer& made);
  void end_regions_of(std::uint64_t session);

  // replica_state (service_replica.cpp)
  bool apply(const change_head& head, std::span<const std::byte> data) override;
  bool apply_bytes(const change_head& head, std::span<const std::byte> data);
  bool apply_region(const change_head& head);
  bool apply_grant(const change_head& head);
  void add_tables(change_batch& to) const override;
  [[nodiscard]] std::span<const std::byte> bytes_from(std::uint64_t& address) const override {
    return memory_.bytes_from(address);
  }
  void begin_serving() override;
  void wait_for_client(std::uint64_t number);
  void end_serving() override;
  [[nodiscard]] change_head change(change_kind what) const noexcept;
  void note_region(change_batch& to, const range& where, application_index owner, std::uint64_t session,
                   std::uint64_t number, const capability_secret& secret) const;
  void note_grant(change_batch& to, const memory_table::capability_view& made) const;

  std::uint32_t server_;
  std::vector<application_key> keys_;
  memory_table memory_;
  statistics counters_;
  std::map<std::string, linked_name, std::less<>> names_;
  std::vector<session*> sessions_;
  std::vector<std::uint32_t> clients_;  // by application
  std::uint32_t most_clients_;
  std::array<std::byte, 65536> thrown_away_{};

  std::uint64_t now_ns_ = 0;
  view_keeper views_{usual_lease_ms};  // of others, for whom this is the name server
  std::optional<replica> member_;
  client_table enrolled_;
  change_batch changes_;  // of the request under way
  // Clients that are not here, and the time from which on this server has waited for them: those that left, each its
  // own; all others from when it began to serve.
  std::map<std::uint64_t, std::uint64_t> left_ns_;
  std::uint64_t served_from_ns_ = 0;
  std::uint64_t patience_ns_ = 10'000'000'000;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t last_look_ns_ = 0;  // nobody is waited for after this one; 0: there is none
  bool has_ended_sessions_ = false;
};

}  // namespace situ::rmem::detail
