// The operations of a server, without any socket: applications, counters, names, and all requests that are answered at
// once. Sessions do reads and writes piece by piece, as sockets have room. Not thread-safe.
#pragma once

#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.h"
#include "rmem/client_table.h"
#include "rmem/loss_reports.h"
#include "rmem/memory_table.h"
#include "rmem/protocol.h"
#include "rmem/replica.h"
#include "rmem/views.h"

namespace situ::rmem::detail {

class session;

// An operation's answer, without the request's id; the body is short.
struct answer {
  detail::status status = status::ok;
  std::uint64_t value = 0;
  std::uint64_t second = 0;
  std::vector<std::byte> body;
};
[[nodiscard]] answer refusal(status why, std::string_view text);

// The sender of a request.
struct asker {
  std::uint64_t session = 0;
  application_index application = 0;
  std::uint64_t client = 0;  // the enrolled client's number; 0: none has enrolled
};

class service : private replica_state {
 public:
  // most_clients: at a time; one application may have half of them, and at least one.
  service(std::uint32_t server, std::uint64_t capacity_bytes, const memory_kind& kind,
          std::vector<application_key> keys, std::uint32_t most_clients);

  // Returns the application whose key makes this proof; if none does, counts it and returns any_application.
  [[nodiscard]] application_index prove(const hello& said, const login& heard) noexcept;
  // Adds a client of the application; if there are too many, counts it and returns false.
  [[nodiscard]] bool enter(application_index which) noexcept;
  void exit(application_index which) noexcept;
  [[nodiscard]] const application_key& key_of(application_index which) const noexcept { return keys_[which]; }
  [[nodiscard]] std::uint32_t server() const noexcept { return server_; }

  // Sets the time, of a clock that does not go back. The thread that waits for sockets calls it after each wait.
  void set_now(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  // become_replica() makes this service a member of a chain, or a spare one: it then serves when and as long as the
  // name server tells it to. index: any_server for a spare. set_lease() sets the lease of the members that have this
  // service as their name server.
  void become_replica(std::uint64_t node, std::uint32_t index, std::uint32_t replicas, std::string_view endpoint);
  void set_lease(std::uint32_t milliseconds) { views_ = keeper_of(milliseconds); }
  // Sets how long the regions of a replica's absent client are kept.
  void set_patience(std::chrono::nanoseconds with_absent) {
    patience_ns_ = static_cast<std::uint64_t>(with_absent.count());
  }
  [[nodiscard]] replica* member() noexcept { return member_ ? &*member_ : nullptr; }
  // Returns true if this process serves memory now.
  [[nodiscard]] bool is_serving() const noexcept { return !member_ || member_->is_serving(now_ns_); }
  // Frees the regions of clients that have been absent for too long. Call it from time to time.
  void look();
  // Returns true once after the end of serving has ended sessions: the owner of their sockets must then close those.
  [[nodiscard]] bool take_ended() noexcept { return std::exchange(has_ended_sessions_, false); }
  // As a member of a chain: return the report to the name server, and take the view in its answer, as the functions of
  // `replica`. They report the members that are suspected or put out.
  [[nodiscard]] beat_entry beat_of_member(std::uint64_t now_ns);
  void install(const view_entry& told, std::uint64_t asked_ns);

  // Report the end of a connection: of a client, with what it held; of a server that was this one's client, by its
  // name; of a neighbour in the chain. why: "it has ended without leaving".
  void report_client(const asker& who, std::string_view peer, std::string_view why);
  void report_server(std::string_view which, std::string_view why);
  void report_neighbour(std::uint64_t node);
  // Returns the reports, for the log.
  [[nodiscard]] loss_reports& losses() noexcept { return losses_; }

  // Does any operation except read and write.
  [[nodiscard]] answer perform(const asker& who, const request_head& head, std::span<const std::byte> body);
  // Returns the answer to an enrolled client's request that has been done already; otherwise nullopt.
  [[nodiscard]] std::optional<answer> repeated(const asker& who, const request_head& head) const;
  // Passes a descriptor of a region's memory to the connection that the region ends with, or to a reader. A member of a
  // chain passes none: stores without a message would not reach the other members, and loads would see bytes that not
  // all have.
  [[nodiscard]] answer pass_memory(const asker& who, const request_head& head, os::descriptor& file);
  // Sends bytes that a write has put into regions to the next member; with the last bytes of a request, also its
  // answer.
  void publish_bytes(std::span<const range> where, std::span<const std::byte> data, const asker& who,
                     const request_head& head, bool is_last);
  [[nodiscard]] memory_table& memory() noexcept { return memory_; }
  [[nodiscard]] statistics& counters() noexcept { return counters_; }
  // Returns the counters, with the current sizes of the tables.
  [[nodiscard]] statistics counted() const;

  // Adds a session, which may from now on be sending bytes of a region.
  void join(session& one) { sessions_.push_back(&one); }
  // Removes a session, with the names and regions that end with it.
  void leave(session& one, std::uint64_t number);
  // Returns a buffer for data to be discarded. Nothing reads it.
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
  // Makes sessions copy the part of these bytes that they have begun to send.
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
  [[nodiscard]] view_keeper keeper_of(std::uint32_t lease_ms);
  [[nodiscard]] std::string end_of_holdings(const asker& who) const;
  [[nodiscard]] std::string name_of_replica(std::uint64_t node) const;

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
  void wait_for_client(std::uint64_t number, bool has_left);
  // The clients of an application that have been absent for too long.
  struct absent_clients {
    application_index application = any_application;
    std::set<std::uint64_t> numbers;
    std::size_t regions = 0;
    std::uint64_t bytes = 0;
  };
  void report_absent(const absent_clients& which);
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
  loss_reports losses_;
  view_keeper views_ = keeper_of(usual_lease_ms);  // of the servers that have this one as their name server
  std::optional<replica> member_;
  client_table enrolled_;
  change_batch changes_;  // of the current request
  // Absent clients whose connection has ended here. For all others the server waits from the time at which it began to
  // serve.
  struct absence {
    std::uint64_t from_ns;
    bool has_left;  // in order
  };
  std::map<std::uint64_t, absence> absent_;
  std::uint64_t served_from_ns_ = 0;
  std::uint64_t patience_ns_ = 10'000'000'000;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t last_look_ns_ = 0;  // the time of the last look(), after which no client is waited for; 0: none is due
  bool has_ended_sessions_ = false;
  std::uint64_t suspected_ = 0;  // the node that the last beat reported as lost; 0: none
};

}  // namespace situ::rmem::detail
