#include "rmem/service.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "os/bytes.h"
#include "rmem/handshake.h"
#include "rmem/session.h"

namespace situ::rmem::detail {
namespace {

answer refused(const outcome& why) { return refusal(why.status, why.text); }

// Clients hand their capabilities to the server that a name leads to, so only operators may link names of servers.
bool is_name_of_server(std::string_view name) { return name.starts_with(server_name_prefix); }

answer with_capability(const capability& made) {
  answer all{status::ok, made.address, made.number, {}};
  os::byte_writer{all.body}.add(made.secret);
  return all;
}

}  // namespace

answer refusal(status why, std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text.substr(0, most_text_bytes)});
  return {why, 0, 0, {bytes.begin(), bytes.end()}};
}

service::service(std::uint32_t server, std::uint64_t capacity_bytes, const memory_kind& kind,
                 std::vector<application_key> keys, std::uint32_t most_clients)
    : server_{server},
      keys_{std::move(keys)},
      memory_{server, capacity_bytes, kind},
      clients_(keys_.size()),
      most_clients_{most_clients} {}

// --- clients ---

application_index service::application_of(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].application == name) return static_cast<application_index>(i);
  return any_application;
}

application_index service::prove(const hello& said, const login& heard) noexcept {
  const bool is_login = heard.magic == protocol_magic && heard.version == protocol_version && heard.zero == 0 &&
                        is_word(heard.application);
  const application_index who = is_login ? application_of(text_of(heard.application)) : any_application;
  if (who != any_application && same_secret(client_proof(keys_[who], said, heard), heard.proof)) return who;
  ++counters_.refused_logins;
  return any_application;
}

bool service::enter(application_index which) noexcept {
  if (counters_.clients >= most_clients_ || clients_[which] >= std::max(1U, most_clients_ / 2)) {
    ++counters_.turned_away;
    return false;
  }
  ++clients_[which];
  ++counters_.clients;
  ++counters_.logins;
  return true;
}
void service::exit(application_index which) noexcept {
  --clients_[which];
  --counters_.clients;
}

void service::leave(session& one, std::uint64_t number) {
  std::erase(sessions_, &one);
  std::erase_if(names_, [&](const auto& each) { return each.second.session == number; });
  end_regions_of(number);
  // An enrolled client may come again, by another connection.
  if (member_ && one.client() != 0) wait_for_client(one.client(), one.has_left());
}

// Ends the regions of a session; on a member of a chain the other members end them, too. A member that does not serve
// leaves the decision to the serving one.
void service::end_regions_of(std::uint64_t session) {
  if (!is_serving()) return;
  for (const std::uint64_t address : memory_.regions_of(session)) end_region(address);
  publish({}, {}, {});
}

// --- operations ---

answer service::perform(const asker& who, const request_head& head, std::span<const std::byte> body) {
  if (!member_) return perform_here(who, head, body);
  const auto what = static_cast<operation>(head.operation);
  const bool is_of_memory = what == operation::enroll || what == operation::list_regions ||
                            (what >= operation::allocate && what <= operation::revoke);
  if (is_of_memory && !is_serving())
    return count(refusal(status::not_serving, "this server does not serve its memory now"));
  if (std::optional<answer> known = repeated(who, head)) return *std::move(known);
  answer made = perform_here(who, head, body);
  publish(who, head, made);
  return made;
}

answer service::perform_here(const asker& who, const request_head& head, std::span<const std::byte> body) {
  switch (static_cast<operation>(head.operation)) {
    case operation::allocate: return count(allocate(who, head));
    case operation::free: return count(free(who, head));
    case operation::fetch_add:
    case operation::compare_swap: return count(change_word(who, head, body));
    case operation::grant: return count(grant(who, head, body));
    case operation::revoke: return count(revoke(who, head));
    case operation::statistics: {
      memory_.collect();
      answer all;
      os::byte_writer{all.body}.add(counted());
      return all;
    }
    case operation::list_regions: return count(list_regions(who, head));
    case operation::link_name: return count(link_name(who, body));
    case operation::unlink_name: return count(unlink_name(who, body));
    case operation::resolve_name: return count(resolve_name(body));
    case operation::list_names: return count(list_names(body));
    case operation::enroll: return count(enroll(who, head));
    case operation::beat: return count(beat(who, body));
    case operation::list_views: return list_views();
    case operation::drain: return count(drain(who, body));
    case operation::follow:
    case operation::map_memory:
    case operation::map_to_read:  // not by a connection that cannot pass descriptors
    case operation::leave:        // not with anything else
    case operation::read:
    case operation::write: break;
  }
  return count(refusal(status::not_supported, "this server knows no such operation"));
}

answer service::count(answer made) noexcept {
  switch (made.status) {
    case status::ok: break;
    case status::denied: ++counters_.denied; break;
    case status::full: ++counters_.full; break;
    default: ++counters_.refused;
  }
  return made;
}

statistics service::counted() const {
  statistics all = counters_;
  all.capacity_bytes = memory_.capacity_bytes();
  all.used_bytes = memory_.used_bytes();
  all.regions = memory_.region_count();
  all.capabilities = memory_.capability_count();
  all.names = names_.size();
  return all;
}

answer service::allocate(const asker& who, const request_head& head) {
  capability made;
  std::uint64_t ends_with = 0;
  if ((head.flags & flag_with_session) != 0) ends_with = who.client != 0 ? who.client : who.session;
  if (const outcome got = memory_.allocate(head.bytes, who.application, ends_with, made); !got.is_ok())
    return refused(got);
  if (member_) note_region(changes_, {made.address, made.bytes}, who.application, ends_with, made.number, made.secret);
  ++counters_.allocations;
  return with_capability(made);
}

void service::detach(std::span<const std::byte> from) {
  for (session* const each : sessions_) each->detach(from);
}
void service::end_region(std::uint64_t address) {
  detach(memory_.memory_at(address));
  memory_.free(address);
  if (!member_) return;
  change_head what = change(change_kind::free);
  what.address = address;
  changes_.add(what);
}

answer service::free(const asker& who, const request_head& head) {
  if (!memory_.is_owner(who.application, head.address))
    return refusal(status::denied, "the application owns no region that begins there");
  if (const std::uint64_t holder = memory_.holder_at(head.address); holder != 0 && holder != who.session)
    return refusal(status::denied, "another client has the region's memory, and it ends with that one's connection");
  end_region(head.address);
  ++counters_.frees;
  return {};
}

answer service::change_word(const asker& who, const request_head& head, std::span<const std::byte> body) {
  const bool swaps = head.operation == static_cast<std::uint16_t>(operation::compare_swap);
  if (body.size() != (swaps ? sizeof(std::uint64_t) : 0) || head.bytes != sizeof(std::uint64_t))
    return refusal(status::bad_argument, "an atomic operation is on 8 bytes");
  if (head.address % sizeof(std::uint64_t) != 0)
    return refusal(status::misaligned, "an atomic operation is on an address that is a multiple of 8");
  std::byte* const at =
      memory_.reach(who.application, head.grant, head.secret, head.address, head.bytes, rights::atomic);
  if (at == nullptr) return refusal(status::denied, "no capability for atomic operations there");
  // Atomic, so that a process that maps the bytes on this host sees a whole word.
  std::atomic_ref<std::uint64_t> word{*reinterpret_cast<std::uint64_t*>(at)};
  answer made;
  if (swaps) {
    made.value = head.operand;
    word.compare_exchange_strong(made.value, os::byte_reader{body}.take<std::uint64_t>());
  } else {
    made.value = word.fetch_add(head.operand);
  }
  ++counters_.atomics;
  if (member_) {
    const range where{head.address, sizeof(std::uint64_t)};
    changes_.add_bytes({&where, 1}, {at, sizeof(std::uint64_t)});
  }
  return made;
}

answer service::grant(const asker& who, const request_head& head, std::span<const std::byte> body) {
  const auto may = static_cast<rights>(head.operand);
  if (head.operand > static_cast<std::uint64_t>(rights::all) || may == rights::none)
    return refusal(status::bad_argument, "these rights are none that there are");
  application_index to = any_application;
  if (!body.empty()) {
    const auto whom = os::whole_value<application_text>(body);
    if (!whom) return refusal(status::bad_argument, "this is no application's name");
    to = application_of(text_of(*whom));
    if (to == any_application) return refusal(status::unknown_name, "the server knows no application of that name");
  }
  capability made;
  const capability from{.number = head.grant, .secret = head.secret};
  if (const outcome got = memory_.grant(who.application, from, {head.address, head.bytes}, may, to, made); !got.is_ok())
    return refused(got);
  ++counters_.grants;
  if (member_)
    note_grant(changes_, {{made.address, made.bytes}, may, to, who.application, made.number, head.grant, &made.secret});
  return with_capability(made);
}

answer service::pass_memory(const asker& who, const request_head& head, os::descriptor& file) {
  if (member_) return count(refusal(status::not_supported, "replicas do not pass their memory"));
  const bool is_to_read = head.operation == static_cast<std::uint16_t>(operation::map_to_read);
  int number = -1;
  const outcome got =
      is_to_read ? memory_.pass_to_read(who.application, {head.address, head.bytes}, head.grant, head.secret, number)
                 : memory_.pass(who.application, who.session, head.grant, head.secret, number);
  if (!got.is_ok()) return count(refused(got));
  // A duplicate, since the region may end before the descriptor has been sent.
  file = os::descriptor{::fcntl(number, F_DUPFD_CLOEXEC, 0)};
  if (!file) return count(refusal(status::not_supported, "the server has no descriptor left"));
  return {};
}

answer service::revoke(const asker& who, const request_head& head) {
  if (const std::uint64_t holder = memory_.holder_by(head.grant, head.secret); holder != 0 && holder != who.session)
    return refusal(status::denied, "another client has the region's memory, and it ends with that one's connection");
  detach(memory_.memory_of(head.grant, head.secret));
  if (const outcome got = memory_.revoke(who.application, head.grant, head.secret); !got.is_ok()) return refused(got);
  ++counters_.revocations;
  if (member_) {
    change_head what = change(change_kind::revoke);
    what.number = head.grant;
    changes_.add(what);
  }
  return {};
}

answer service::list_regions(const asker& who, const request_head& head) const {
  constexpr std::size_t most = most_body_bytes / sizeof(region_entry) - 1;
  const application_index whose = keys_[who.application].is_operator ? any_application : who.application;
  auto found = memory_.list(whose, head.address, most + 1);
  answer all;
  if (found.size() > most) {
    all.value = found.back().address;
    found.pop_back();
  }
  os::byte_writer to{all.body};
  for (const auto& each : found)
    to.add(region_entry{each.address, each.bytes, each.capabilities, 0,
                        fixed<application_bytes>(keys_[each.owner].application)});
  return all;
}

// --- names ---

answer service::link_name(const asker& who, std::span<const std::byte> body) {
  const auto wanted = os::whole_value<name_entry>(body);
  if (!wanted) return refusal(status::bad_argument, "this is no name with an endpoint");
  if (!is_word(wanted->name) || !is_word(wanted->endpoint))
    return refusal(status::bad_argument, "names and endpoints are printable words");
  const std::string name{text_of(wanted->name)};
  if (is_name_of_server(name) && !keys_[who.application].is_operator)
    return refusal(status::denied, "names of servers are linked by operators only");
  if (view_of(name) != nullptr) return refusal(status::denied, fmt::format("{} is the name of replicas", name));
  const auto known = names_.find(name);
  if (known != names_.end() && known->second.session != who.session)
    return refusal(status::denied, fmt::format("{} has linked {}", keys_[known->second.by].application, name));
  const auto own =
      std::count_if(names_.begin(), names_.end(), [&](const auto& each) { return each.second.by == who.application; });
  if (known == names_.end() && (names_.size() >= most_names || static_cast<std::size_t>(own) >= most_names_of_one))
    return refusal(status::full, fmt::format("there are {} names, {} of them this application's; at most {} and {}",
                                             names_.size(), own, most_names, most_names_of_one));
  names_[name] = {std::string{text_of(wanted->endpoint)}, who.session, who.application};
  return {};
}

answer service::unlink_name(const asker& who, std::span<const std::byte> body) {
  const auto name = os::whole_value<name_text>(body);
  if (!name) return refusal(status::bad_argument, "this is no name");
  const auto known = names_.find(text_of(*name));
  if (known == names_.end() || known->second.session != who.session)
    return refusal(status::denied, "this connection has not linked that name");
  names_.erase(known);
  return {};
}

answer service::resolve_name(std::span<const std::byte> body) {
  const auto name = os::whole_value<name_text>(body);
  if (!name) return refusal(status::bad_argument, "this is no name");
  if (const view_entry* const view = view_of(text_of(*name))) {
    answer all{status::ok, view->epoch, view->members, {}};
    os::byte_writer{all.body}.add(view->chain[0].endpoint);
    return all;
  }
  const auto known = names_.find(text_of(*name));
  if (known == names_.end()) return refusal(status::unknown_name, "nobody has linked that name");
  answer all;
  os::byte_writer{all.body}.add(fixed<sizeof(endpoint_text)>(known->second.endpoint));
  return all;
}

// Returns the names behind the one in the body, which may be empty; value is 1 if there are more.
answer service::list_names(std::span<const std::byte> body) {
  constexpr std::size_t most = most_body_bytes / sizeof(name_entry);
  const auto after = os::whole_value<name_text>(body);
  if (!after) return refusal(status::bad_argument, "this is no name");
  std::map<std::string, name_entry, std::less<>> behind;
  for (auto at = names_.upper_bound(text_of(*after)); at != names_.end() && behind.size() <= most; ++at)
    behind[at->first] = {fixed<sizeof(name_text)>(at->first), fixed<sizeof(endpoint_text)>(at->second.endpoint)};
  for (const view_entry& each : views_.all(now_ns_))
    if (const std::string name = server_name(each.index); name > text_of(*after))
      behind[name] = {fixed<sizeof(name_text)>(name), each.chain[0].endpoint};
  answer all;
  std::size_t listed = 0;
  for (const auto& [name, entry] : behind) {
    if (listed++ == most) {
      all.value = 1;
      break;
    }
    os::byte_writer{all.body}.add(entry);
  }
  return all;
}

}  // namespace situ::rmem::detail
