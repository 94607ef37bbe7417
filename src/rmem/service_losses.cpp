// The sentences about clients and servers that a service has lost.
#include <situ/base/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "rmem/service.h"

namespace situ::rmem::detail {
namespace {

// Returns "2 regions (8 KiB)".
std::string regions_text(std::size_t regions, std::uint64_t bytes) {
  return fmt::format("{} {} ({})", regions, regions == 1 ? "region" : "regions", format_bytes(bytes));
}
std::string freed(std::size_t regions, std::uint64_t bytes, bool is_of_one) {
  return fmt::format("{} {} {} freed", is_of_one ? "its" : "their", regions_text(regions, bytes),
                     regions == 1 ? "is" : "are");
}

}  // namespace

// Returns what becomes of the memory and the names that end with a client.
std::string service::end_of_holdings(const asker& who) const {
  std::size_t regions = 0;
  std::uint64_t bytes = 0;
  const std::uint64_t holder = who.client != 0 ? who.client : who.session;
  memory_.for_each_region([&](const range& where, auto, std::uint64_t session, auto, const auto&) {
    if (session != holder) return;
    ++regions;
    bytes += where.bytes;
  });
  std::vector<std::string_view> names;
  for (const auto& [name, each] : names_)
    if (each.session == who.session) names.push_back(name);
  if (regions == 0 && names.empty()) return "it held no memory and no name of its own";
  std::string text;
  if (regions > 0)
    text = who.client == 0 ? freed(regions, bytes, true)
                           : fmt::format("its {} will be freed in {:.3g} s, unless it comes back",
                                         regions_text(regions, bytes), static_cast<double>(patience_ns_) * 1e-9);
  if (!names.empty())
    text += fmt::format("{}the {} {} {} unlinked", text.empty() ? "" : "; ", names.size() == 1 ? "name" : "names",
                        fmt::join(names, ", "), names.size() == 1 ? "is" : "are");
  return text;
}

// A replica that does not serve is silent: the serving one knows whether the client has come there.
void service::report_client(const asker& who, std::string_view peer, std::string_view why) {
  if (!is_serving()) return;
  losses_.add(now_ns_, [&] {
    return fmt::format("a client of {}{} is lost: {}; {}", keys_[who.application].application,
                       peer.empty() ? "" : fmt::format(" ({})", peer), why, end_of_holdings(who));
  });
}

void service::report_absent(const absent_clients& which) {
  losses_.add(now_ns_, [&] {
    const std::size_t count = which.numbers.size();
    return fmt::format("{} of {} {} not come back for {:.3g} s; {}",
                       count == 1 ? std::string{"a client"} : fmt::format("{} clients", count),
                       keys_[which.application].application, count == 1 ? "has" : "have",
                       static_cast<double>(patience_ns_) * 1e-9, freed(which.regions, which.bytes, count == 1));
  });
}

void service::report_server(std::string_view which, std::string_view why) {
  losses_.add(now_ns_, [&] { return fmt::format("the server {} is lost: {}", which, why); });
}

void service::report_neighbour(std::uint64_t node) {
  losses_.add(now_ns_, [&] {
    return fmt::format("server {}: the connection to {} is cut; the name server decides whether it is lost", server_,
                       name_of_replica(node));
  });
}

// The view has no endpoint of a replica that joins.
std::string service::name_of_replica(std::uint64_t node) const {
  const view_entry& view = member_->view();
  const std::size_t at = place_in(view, node);
  return at < view.members ? fmt::format("the replica at {}", text_of(view.chain[at].endpoint))
                           : "the replica that joins";
}

view_keeper service::keeper_of(std::uint32_t lease_ms) {
  return view_keeper{lease_ms, [this](const std::string& sentence) { losses_.add(now_ns_, [&] { return sentence; }); }};
}

beat_entry service::beat_of_member(std::uint64_t now_ns) {
  const beat_entry said = member_->beat(now_ns);
  if (said.lost != 0 && said.lost != suspected_)
    losses_.add(now_ns_, [&] {
      return fmt::format("server {}: {} is suspected, and reported to the name server: it takes no changes", server_,
                         name_of_replica(said.lost));
    });
  suspected_ = said.lost;
  return said;
}

void service::install(const view_entry& told, std::uint64_t asked_ns) {
  const view_entry before = member_->view();
  member_->install(told, asked_ns);
  const view_entry& now = member_->view();
  if (before.index != now.index || before.epoch == now.epoch || member_->is_drained()) return;
  for (std::size_t i = 0; i < before.members; ++i) {
    const member_entry& each = before.chain[i];
    if (place_in(now, each.node) < now.members) continue;
    losses_.add(now_ns_, [&] {
      if (each.node == member_->node())
        return fmt::format(
            "server {}: the name server has put this replica out: it was not heard, or took no changes; "
            "it may join anew",
            now.index);
      return fmt::format("server {}: the replica at {} is put out, as it is lost or drained; {} serves", now.index,
                         text_of(each.endpoint),
                         member_->is_first() ? std::string_view{"this one"} : text_of(now.chain[0].endpoint));
    });
  }
}

}  // namespace situ::rmem::detail
