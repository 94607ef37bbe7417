// A replicated server's record of its clients: for each client the answer to its last request that changed something.
// So a request that is sent again, to the next server of the chain, is done once. All members of a chain change the
// table alike.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "rmem/memory_table.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {

// Not thread-safe.
class client_table {
 public:
  static constexpr std::size_t most_clients = 4096;  // beyond it, make_room_for() evicts one

  struct entry {
    application_index application = any_application;
    std::uint64_t turn = 0;
    std::uint64_t request = 0;  // the last request; its answer follows
    std::uint64_t value = 0;
    std::uint64_t second = 0;
    std::vector<std::byte> body;
  };

  // Returns the client's entry, or null if it is unknown or belongs to another application.
  [[nodiscard]] const entry* find(std::uint64_t client, application_index who) const noexcept {
    const auto found = entries_.find(client);
    return found == entries_.end() || found->second.application != who ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_known(std::uint64_t client) const noexcept { return entries_.contains(client); }
  void enroll(std::uint64_t client, application_index who);
  void note(std::uint64_t client, std::uint64_t request, std::uint64_t value, std::uint64_t second,
            std::span<const std::byte> body);
  void clear() noexcept { entries_.clear(), turn_ = 0; }
  // Returns the entries, oldest first. A table that enrolls and notes them in this order becomes equal to this one.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, const entry*>> in_turn() const;

 private:
  void make_room_for(application_index who);
  std::map<std::uint64_t, entry> entries_;
  std::uint64_t turn_ = 0;
};

}  // namespace situ::rmem::detail
