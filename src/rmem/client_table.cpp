#include "rmem/client_table.h"

#include <algorithm>
#include <utility>

namespace situ::rmem::detail {

void client_table::enroll(std::uint64_t client, application_index who) {
  if (const auto known = entries_.find(client); known != entries_.end()) {
    known->second.turn = ++turn_;
    return;
  }
  if (entries_.size() >= most_clients) make_room_for(who);
  entry& made = entries_[client];
  made.application = who;
  made.turn = ++turn_;
}

// Evicts the oldest entry of the application that has the most, so that no application evicts the clients of others; of
// `who` if no other has more.
void client_table::make_room_for(application_index who) {
  std::map<application_index, std::size_t> clients;
  for (const auto& [client, each] : entries_) ++clients[each.application];
  application_index most = who;
  std::size_t most_clients_of_one = clients[who];
  for (const auto& [application, count] : clients)
    if (count > most_clients_of_one) most = application, most_clients_of_one = count;
  auto oldest = entries_.end();
  for (auto each = entries_.begin(); each != entries_.end(); ++each)
    if (each->second.application == most && (oldest == entries_.end() || each->second.turn < oldest->second.turn))
      oldest = each;
  entries_.erase(oldest);
}

void client_table::note(std::uint64_t client, std::uint64_t request, std::uint64_t value, std::uint64_t second,
                        std::span<const std::byte> body) {
  const auto known = entries_.find(client);
  if (known == entries_.end()) return;
  entry& of = known->second;
  of.turn = ++turn_;
  of.request = request;
  of.value = value;
  of.second = second;
  of.body.assign(body.begin(), body.end());
}

std::vector<std::pair<std::uint64_t, const client_table::entry*>> client_table::in_turn() const {
  std::vector<std::pair<std::uint64_t, const entry*>> all;
  for (const auto& [client, each] : entries_) all.emplace_back(client, &each);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second->turn < b.second->turn; });
  return all;
}

}  // namespace situ::rmem::detail
