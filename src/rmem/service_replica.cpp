// The part of a service that acts as a member of a chain, and as the name server of chains.
#include "rmem/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>

#include "os/bytes.h"
#include "rmem/session.h"

namespace situ::rmem::detail {
namespace {

const char* const operators_only = "replicas, and what is told of them, are for operators only";

}  // namespace

// --- as the name server ---

const view_entry* service::view_of(std::string_view name) {
  if (!name.starts_with(server_name_prefix)) return nullptr;
  std::uint32_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, bad] = std::from_chars(name.data() + server_name_prefix.size(), end, index);
  if (bad != std::errc{} || stop != end || name != server_name(index)) return nullptr;
  return views_.find(index, now_ns_);
}

answer service::beat(const asker& who, std::span<const std::byte> body) {
  if (!keys_[who.application].is_operator) return refusal(status::denied, operators_only);
  const auto said = os::whole_value<beat_entry>(body);
  view_entry told{};
  if (!said || !views_.beat(*said, now_ns_, told))
    return refusal(status::bad_argument, "this is no server's word about itself");
  answer all;
  os::byte_writer{all.body}.add(told);
  return all;
}

answer service::drain(const asker& who, std::span<const std::byte> body) {
  if (!keys_[who.application].is_operator) return refusal(status::denied, operators_only);
  const auto endpoint = os::whole_value<endpoint_text>(body);
  if (!endpoint || !is_word(*endpoint)) return refusal(status::bad_argument, "this is no endpoint");
  const outcome got = views_.drain(text_of(*endpoint), now_ns_);
  return got.is_ok() ? answer{} : refusal(got.status, got.text);
}

// Returns at most 18 views, since a body has room for no more. value: the number of all views; second: spare servers.
answer service::list_views() {
  const std::vector<view_entry> views = views_.all(now_ns_);
  answer all{status::ok, views.size(), views_.spares(), {}};
  const std::size_t most = most_body_bytes / sizeof(view_entry);
  os::byte_writer{all.body}.add_bytes(std::as_bytes(std::span{views}.first(std::min(most, views.size()))));
  return all;
}

// --- as a member ---

void service::become_replica(std::uint64_t node, std::uint32_t index, std::uint32_t replicas,
                             std::string_view endpoint) {
  member_.emplace(static_cast<replica_state&>(*this), node, index, replicas, memory_.capacity_bytes(), endpoint);
}

void service::begin_serving() {
  served_from_ns_ = now_ns_;
  absent_.clear();
  last_look_ns_ = now_ns_ + patience_ns_;
}

void service::wait_for_client(std::uint64_t number, bool has_left) {
  absent_[number] = {now_ns_, has_left};
  last_look_ns_ = now_ns_ + patience_ns_;
}

void service::end_serving() {
  for (session* const each : sessions_) each->cut();
  has_ended_sessions_ = true;
}

// Ends the regions of clients that have been absent for too long.
void service::look() {
  if (!member_ || last_look_ns_ == 0 || now_ns_ < next_look_ns_ || !is_serving()) return;
  next_look_ns_ = now_ns_ + patience_ns_ / 16;
  const bool is_last = now_ns_ >= last_look_ns_;
  std::set<std::uint64_t> here;
  for (const session* const each : sessions_) here.insert({each->client(), each->number()});
  std::vector<std::uint64_t> gone;
  // By client; those of a former server together, by application, as nobody here knows which of them have left.
  std::map<std::pair<std::uint64_t, application_index>, absent_clients> lost;
  memory_.for_each_region([&](const range& where, application_index owner, std::uint64_t session, auto, const auto&) {
    if (session == 0 || here.contains(session)) return;
    const auto known = absent_.find(session);
    const std::uint64_t away_from_ns = known != absent_.end() ? known->second.from_ns : served_from_ns_;
    if (now_ns_ - away_from_ns < patience_ns_) return;
    gone.push_back(where.address);
    if (known != absent_.end() && known->second.has_left) return;
    absent_clients& of = lost[{known != absent_.end() ? session : 0, owner}];
    of.application = owner;
    of.numbers.insert(session);
    ++of.regions;
    of.bytes += where.bytes;
  });
  for (const std::uint64_t address : gone) end_region(address);
  std::erase_if(absent_, [&](const auto& each) { return now_ns_ - each.second.from_ns >= patience_ns_; });
  for (const auto& [key, each] : lost) report_absent(each);
  if (is_last) last_look_ns_ = 0;
  if (!gone.empty()) publish({}, {}, {});
}

// Notes a client's number, so that a request that it sends again to the next server is done once.
answer service::enroll(const asker& who, const request_head& head) {
  if (head.operand == 0) return refusal(status::bad_argument, "a client's number is not 0");
  if (!member_) return refusal(status::not_supported, "this server's memory has no replicas");
  if (head.address > member_->view().epoch)
    return refusal(status::not_serving, "this server has not heard yet that others serve its memory");
  const bool is_known = enrolled_.is_known(head.operand);
  if (is_known && enrolled_.find(head.operand, who.application) == nullptr)
    return refusal(status::denied, "another application has that number");
  if (!is_known && (head.flags & flag_known) != 0)
    return refusal(status::outcome_lost, "whether the client's last request was done is not known any more");
  // Requests that the client has sent on other connections must not be done any more.
  for (session* const each : sessions_)
    if (each->client() == head.operand && each->number() != who.session) {
      each->cut();
      has_ended_sessions_ = true;
    }
  enrolled_.enroll(head.operand, who.application);
  change_head what = change(change_kind::client);
  what.client = head.operand;
  what.owner = fixed<application_bytes>(keys_[who.application].application);
  changes_.add(what);
  return {};
}

std::optional<answer> service::repeated(const asker& who, const request_head& head) const {
  if (!member_ || who.client == 0) return {};
  const client_table::entry* const known = enrolled_.find(who.client, who.application);
  if (known == nullptr || known->request < head.id) return {};
  if (known->request > head.id) return refusal(status::outcome_lost, "a later request has been done before this one");
  return answer{status::ok, known->value, known->second, known->body};
}

change_head service::change(change_kind what) const noexcept {
  change_head made{};
  made.kind = static_cast<std::uint32_t>(what);
  return made;
}

// Sends the changes of a request to the next member, with its answer.
void service::publish(const asker& who, const request_head& head, const answer& made) {
  if (!member_ || changes_.is_empty()) return;
  if (who.client != 0 && made.status == status::ok) {
    enrolled_.note(who.client, head.id, made.value, made.second, made.body);
    change_head done = change(change_kind::done);
    done.client = who.client;
    done.request = head.id;
    done.address = made.value;
    done.bytes = made.second;
    changes_.add(done, made.body);
  }
  member_->publish(changes_, now_ns_);
  changes_ = {};
}

void service::publish_bytes(std::span<const range> where, std::span<const std::byte> data, const asker& who,
                            const request_head& head, bool is_last) {
  changes_.add_bytes(where, data);
  publish(is_last ? who : asker{}, head, {});
}

void service::note_region(change_batch& to, const range& where, application_index owner, std::uint64_t session,
                          std::uint64_t number, const capability_secret& secret) const {
  change_head what = change(change_kind::allocate);
  what.address = where.address;
  what.bytes = where.bytes;
  what.number = number;
  what.client = session;
  what.secret = secret;
  what.owner = fixed<application_bytes>(keys_[owner].application);
  to.add(what);
}

void service::note_grant(change_batch& to, const memory_table::capability_view& made) const {
  change_head what = change(change_kind::grant);
  what.address = made.of.address;
  what.bytes = made.of.bytes;
  what.number = made.number;
  what.parent = made.parent;
  what.may = static_cast<std::uint64_t>(made.may);
  what.secret = *made.secret;
  what.owner = fixed<application_bytes>(keys_[made.maker].application);
  if (made.for_whom != any_application) what.whom = fixed<application_bytes>(keys_[made.for_whom].application);
  to.add(what);
}

// An enrolled client becomes a `client` change, and its last request a `done` change; a client's region has its number.
void service::add_tables(change_batch& to) const {
  memory_.for_each_region(
      [&](const range& where, application_index owner, std::uint64_t session, std::uint64_t number,
          const capability_secret& secret) { note_region(to, where, owner, session, number, secret); });
  memory_.for_each_grant([&](const memory_table::capability_view& each) { note_grant(to, each); });
  for (const auto& [client, each] : enrolled_.in_turn()) {
    change_head what = change(change_kind::client);
    what.client = client;
    what.owner = fixed<application_bytes>(keys_[each->application].application);
    to.add(what);
    if (each->request == 0) continue;
    what.kind = static_cast<std::uint32_t>(change_kind::done);
    what.request = each->request;
    what.address = each->value;
    what.bytes = each->second;
    to.add(what, each->body);
  }
  change_head last = change(change_kind::slots);
  last.address = memory_.next_address();
  const std::vector<std::uint32_t> uses = memory_.uses();
  to.add(last, std::as_bytes(std::span{uses}));
}

// --- changes of other members ---

bool service::apply(const change_head& head, std::span<const std::byte> data) {
  switch (static_cast<change_kind>(head.kind)) {
    case change_kind::bytes: return apply_bytes(head, data);
    case change_kind::allocate: return apply_region(head);
    case change_kind::free:
      if (memory_.memory_at(head.address).empty()) return false;
      memory_.free(head.address);
      return true;
    case change_kind::grant: return apply_grant(head);
    case change_kind::revoke: return memory_.drop_capability(head.number);
    case change_kind::client: {
      const application_index who = application_of(text_of(head.owner));
      if (who == any_application || head.client == 0) return false;
      enrolled_.enroll(head.client, who);
      return true;
    }
    case change_kind::done:
      if (data.size() > sizeof(capability_secret)) return false;
      enrolled_.note(head.client, head.request, head.address, head.bytes, data);
      return true;
    case change_kind::begin:
      if (head.address >= 256) return false;
      memory_.reset(static_cast<std::uint32_t>(head.address));
      server_ = static_cast<std::uint32_t>(head.address);
      enrolled_.clear();
      return true;
    case change_kind::slots: {
      if (data.size() / sizeof(std::uint32_t) > memory_table::most_slots) return false;
      memory_.set_uses(os::values_of<std::uint32_t>(data));
      memory_.set_next_address(head.address);
      return server_of(head.address) == server_;
    }
  }
  return false;
}

// A part of a copy may belong to a region that is gone or not here yet: later batches have the rest.
bool service::apply_bytes(const change_head& head, std::span<const std::byte> data) {
  os::byte_reader from{data};
  if (head.number == 0 || !from.can_hold(head.number, sizeof(range))) return false;
  os::byte_reader ranges{from.take_bytes(head.number * sizeof(range))};
  for (range where; ranges.take(where);) {
    const std::span<const std::byte> bytes = from.take_bytes(where.bytes);
    if (from.has_failed()) return false;
    const std::span<std::byte> to = memory_.bytes_at(where);
    if (to.size() == bytes.size() && !bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  }
  return from.is_done();
}

bool service::apply_region(const change_head& head) {
  const application_index owner = application_of(text_of(head.owner));
  return owner != any_application &&
         memory_.place_region({head.address, head.bytes}, owner, head.client, head.number, head.secret);
}

bool service::apply_grant(const change_head& head) {
  const application_index maker = application_of(text_of(head.owner));
  const bool is_for_one = head.whom[0] != 0;
  const application_index whom = is_for_one ? application_of(text_of(head.whom)) : any_application;
  if (maker == any_application || (is_for_one && whom == any_application)) return false;
  if (head.may == 0 || head.may > static_cast<std::uint64_t>(rights::all)) return false;
  return memory_.place_capability(
      {{head.address, head.bytes}, static_cast<rights>(head.may), whom, maker, head.number, head.parent, &head.secret});
}

}  // namespace situ::rmem::detail
