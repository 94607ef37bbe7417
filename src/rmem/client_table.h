// What a replicated server remembers of its clients: the answer to the last request of each that changed something. So
// one that is sent again, to the next server of the chain, is done once. All members of a chain change it alike.
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
  static constexpr std::size_t most_clients = 4096;  // the one that was here longest ago makes room: make_room_for

  struct entry {
    application_index application = any_application;
    std::uint64_t turn = 0;
    std::uint64_t request = 0;  // the last one; what follows is its answer
    std::uint64_t value = 0;
    std::uint64_t second = 0;
    std::vector<std::byte> body;
  };

  // Null where it is not known, or another application's.
  [[nodiscard]] const entry* find(std::uint64_t client, application_index who) const noexcept {
    const auto found = entries_.find(client);
    return found == entries_.end() || found->second.application != who ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_known(std::uint64_t client) const noexcept { return entries_.contains(client); }
  void enroll(std::uint64_t client, application_index who);
  void note(std::uint64_t client, std::uint64_t request, std::uint64_t value, std::uint64_t second,
            std::span<const std::byte> body);
  void clear() noexcept { entries_.clear(), turn_ = 0; }
  // The oldest first: enrolled and noted again in this order, another table becomes the same.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, const entry*>> in_turn() const;

 private:
  void make_room_for(application_index who);
  std::map<std::uint64_t, entry> entries_;
  std::uint64_t turn_ = 0;
};

}  // namespace situ::rmem::detail
