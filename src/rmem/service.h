// What a server does for its clients, without any socket: applications, counters, names, and the operations that are
// answered at once. Reads and writes are done by sessions, piece by piece, since their bytes come and go as sockets
// have room. Not thread-safe.
#pragma once

#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rmem/memory_table.h"
#include "rmem/protocol.h"

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
};

class service {
 public:
  // most_clients: an application's, at a time.
  service(std::uint32_t server, std::uint64_t capacity_bytes, const memory_kind& kind,
          std::vector<application_key> keys, std::uint32_t most_clients);

  // Which application's key makes this proof; any_application: none's, which is counted.
  [[nodiscard]] application_index prove(const hello& said, const login& heard) noexcept;
  // One more of its clients; false where there are too many, which is counted.
  [[nodiscard]] bool enter(application_index which) noexcept;
  void exit(application_index which) noexcept;
  [[nodiscard]] const application_key& key_of(application_index which) const noexcept { return keys_[which]; }
  [[nodiscard]] std::uint32_t server() const noexcept { return server_; }

  // Any operation but read and write.
  [[nodiscard]] answer perform(const asker& who, const request_head& head, std::span<const std::byte> body);
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
  answer resolve_name(std::span<const std::byte> body) const;
  answer list_names(std::span<const std::byte> body) const;
  [[nodiscard]] application_index application_of(std::string_view name) const noexcept;
  void end_region(std::uint64_t address);
  // What sessions have begun to send of these bytes is theirs from here on.
  void detach(std::span<const std::byte> from);
  answer count(answer made) noexcept;

  std::uint32_t server_;
  std::vector<application_key> keys_;
  memory_table memory_;
  statistics counters_;
  std::map<std::string, linked_name, std::less<>> names_;
  std::vector<session*> sessions_;
  std::vector<std::uint32_t> clients_;  // by application
  std::uint32_t most_clients_;
  std::array<std::byte, 65536> thrown_away_{};
};

}  // namespace situ::rmem::detail
