#include "rmem/client_table.h"

#include <algorithm>
#include <utility>

namespace situ::rmem::detail {

void client_table::enroll(std::uint64_t client, application_index who) {
  if (const auto known = entries_.find(client); known != entries_.end()) {
    known->second.turn = ++turn_;
    return;
  }
  if (entries_.size() >= most_clients)
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const auto& a, const auto& b) { return a.second.turn < b.second.turn; }));
  entry& made = entries_[client];
  made.application = who;
  made.turn = ++turn_;
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
