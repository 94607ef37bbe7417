#include "rmem/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "os/bytes.h"
#include "rmem/handshake.h"

namespace situ::rmem::detail {
namespace {

constexpr std::uint16_t number_of(operation which) noexcept { return static_cast<std::uint16_t>(which); }

// Returns true if the request is a leave, which says nothing else.
bool is_leave(const request_head& head) noexcept {
  const request_head leave{.operation = number_of(operation::leave)};
  return std::memcmp(&head, &leave, sizeof leave) == 0;
}

// Returns the flags that a request may have.
std::uint16_t flags_of(const request_head& head) noexcept {
  if (head.operation == number_of(operation::write)) return flag_two_steps;
  if (head.operation == number_of(operation::enroll)) return flag_known;
  return head.operation == number_of(operation::allocate) ? flag_with_session : 0;
}

}  // namespace

session::session(service& of, std::uint64_t number, std::string peer)
    : service_{of}, number_{number}, peer_{std::move(peer)} {
  in_.resize(sizeof(login));  // a stranger gets no more
  hello_ = {protocol_magic, protocol_version, 0, {}};
  fill_random(hello_.nonce);
  append(bytes_of(hello_));
  service_.join(*this);
}

session::~session() {
  if (application_ != any_application) service_.exit(application_);
  if (replica* const member = service_.member(); member != nullptr && stream_ != 0) member->stream_ended(stream_);
  service_.leave(*this, number_);
}

// --- input ---

std::span<std::byte> session::room() {
  if (step_ == step::ended || (service_.member() != nullptr && service_.member()->is_full() && step_ == step::data))
    return {};
  if (step_ == step::data) return in_begin_ == in_end_ ? data_room() : std::span<std::byte>{};
  if (in_begin_ > 0) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  return std::span{in_}.subspan(in_end_);
}

// Returns the buffer for the next bytes of a write.
std::span<std::byte> session::data_room() {
  if (is_gathering()) {
    gathered_.resize(std::min<std::uint64_t>(left_ + gathered_bytes_, piece_bytes));
    return std::span{gathered_}.subspan(gathered_bytes_);
  }
  if (failed_.status == status::ok && !is_repeated_) {
    const range& now = ranges_[range_];
    const std::uint64_t bytes = std::min<std::uint64_t>(now.bytes, piece_bytes);
    if (std::byte* const at = reach(now.address, bytes, rights::write)) return {at, bytes};
    failed_ = refusal(status::denied, "the capability ended while the data was on its way");
  }
  const std::span<std::byte> nowhere = service_.thrown_away();
  return nowhere.first(std::min<std::uint64_t>(left_, nowhere.size()));
}

void session::received(std::size_t bytes) {
  if (step_ == step::data) {
    data_arrived(bytes);
  } else {
    in_end_ += bytes;
  }
  take_requests();
}

// Does the requests that were received, while few answers wait.
void session::take_requests() {
  while (step_ != step::ended && !is_blocked()) {
    if (step_ == step::stream) return take_stream_answers();
    if (step_ == step::data) {
      if (in_begin_ == in_end_) return;
      const std::span<std::byte> to = data_room();
      const std::size_t bytes = std::min(to.size(), in_end_ - in_begin_);
      std::memcpy(to.data(), in_.data() + in_begin_, bytes);
      in_begin_ += bytes;
      data_arrived(bytes);
    } else if (step_ == step::login ? !take_login() : !take_request()) {
      return;
    }
  }
}

// A refused client does not learn whether the name or the key was wrong.
bool session::take_login() {
  login heard;
  if (!os::byte_reader{arrived()}.take(heard)) return false;
  in_begin_ += sizeof heard;
  welcome answer{protocol_magic,
                 static_cast<std::uint16_t>(status::denied),
                 static_cast<std::uint16_t>(service_.server()),
                 service_.memory().capacity_bytes(),
                 {}};
  const application_index who = service_.prove(hello_, heard);
  if (who == any_application || !service_.enter(who)) {
    if (who != any_application) answer.status = static_cast<std::uint16_t>(status::full);
    append(bytes_of(answer));
    end(false);
    return false;
  }
  application_ = who;
  answer.status = static_cast<std::uint16_t>(status::ok);
  answer.proof = server_proof(service_.key_of(application_), hello_, heard, answer);
  append(bytes_of(answer));
  in_.resize(sizeof(request_head) + most_body_bytes);
  step_ = step::request;
  ++parts_in_;
  return true;
}

// After a head with an impossible length the session cannot find the next head, so it ends.
bool session::take_request() {
  os::byte_reader from{arrived()};
  if (!from.take(head_)) return false;
  const bool is_write = head_.operation == number_of(operation::write);
  if (head_.body_bytes > most_body_bytes || (head_.flags & ~flags_of(head_)) != 0 ||
      (is_write && head_.bytes > most_transfer)) {
    reply(refusal(status::bad_message, "this is no request of the protocol"));
    end(true);
    return false;
  }
  const std::span<const std::byte> body = from.take_bytes(head_.body_bytes);
  if (from.has_failed()) return false;
  in_begin_ += sizeof(request_head) + head_.body_bytes;
  ++parts_in_;
  part_bytes_ = 0;
  if (is_write) {
    begin_write(body);
  } else if (head_.operation == number_of(operation::read)) {
    begin_read(body);
  } else if (head_.operation == number_of(operation::follow) && is_replicated()) {
    begin_stream(body);
  } else if (head_.operation == number_of(operation::leave) && is_leave(head_)) {
    has_left_ = true;
    end(false);
    return false;
  } else if (may_pass_ && (head_.operation == number_of(operation::map_memory) ||
                           head_.operation == number_of(operation::map_to_read))) {
    reply(service_.pass_memory(who(), head_, passing_));
  } else {
    const answer made = service_.perform(who(), head_, body);
    if (head_.operation == number_of(operation::enroll) && made.status == status::ok && is_replicated())
      client_ = head_.operand;
    if (made.status == status::ok) note_server(body);
    reply(made);
  }
  return true;
}

// Servers are clients of their name server: their losses are reported by their own names.
void session::note_server(std::span<const std::byte> body) {
  if (!service_.key_of(application_).is_operator) return;
  if (head_.operation == number_of(operation::beat)) {
    if (server_.empty()) server_ = fmt::format("at {}", text_of(os::byte_reader{body}.take<beat_entry>().endpoint));
  } else if (head_.operation == number_of(operation::link_name)) {
    const auto linked = os::byte_reader{body}.take<name_entry>();
    if (server_.empty() && text_of(linked.name).starts_with(server_name_prefix))
      server_ = fmt::format("{} at {}", text_of(linked.name), text_of(linked.endpoint));
  }
}

void session::lost(std::string_view why) {
  if (step_ == step::stream) {
    if (!has_ended()) service_.report_neighbour(next_);
  } else if (!is_logged_in()) {
    return;  // a stranger; or the session has ended, in order or with a report
  } else if (!server_.empty()) {
    service_.report_server(server_, why);
  } else {
    service_.report_client(who(), peer_, why);
  }
}

void session::end(bool is_bad) {
  if (is_bad) {
    lost("it has sent what is no request of the protocol");
    ++service_.counters().bad_messages;
  }
  if (application_ != any_application) service_.exit(application_);
  application_ = any_application;
  step_ = step::ended;
}

// --- reading and writing ---

std::byte* session::reach(std::uint64_t at, std::uint64_t bytes, rights use) const noexcept {
  return service_.memory().reach(application_, head_.grant, head_.secret, at, bytes, use);
}

// Fills ranges_ with the body's ranges, or the head's, and checks them.
answer session::check_ranges(std::span<const std::byte> body, rights use) {
  ranges_.clear();
  range_ = 0;
  left_ = 0;
  if (head_.bytes > most_transfer || body.size() % sizeof(range) != 0)
    return refusal(status::bad_argument, fmt::format("a request moves at most {} bytes", most_transfer));
  const range whole{head_.address, head_.bytes};
  if (body.empty()) body = bytes_of(whole);
  bool is_reached = true;
  os::byte_reader from{body};
  for (range each; from.take(each);) {
    if (each.bytes > head_.bytes - left_) return refusal(status::bad_argument, "the parts are not the whole");
    left_ += each.bytes;
    is_reached &= reach(each.address, each.bytes, use) != nullptr;
    if (each.bytes > 0) ranges_.push_back(each);
  }
  if (left_ != head_.bytes) return refusal(status::bad_argument, "the parts are not the whole");
  if (!is_reached)
    return refusal(status::denied, fmt::format("no capability to {} there", use == rights::read ? "read" : "write"));
  return {};
}

void session::advance(std::uint64_t bytes) noexcept {
  left_ -= bytes;
  ranges_[range_].address += bytes;
  ranges_[range_].bytes -= bytes;
  if (ranges_[range_].bytes == 0) ++range_;
}

void session::begin_read(std::span<const std::byte> body) {
  if (!service_.is_serving()) return reply(refusal(status::not_serving, "this server does not serve its memory now"));
  if (const answer checked = check_ranges(body, rights::read); checked.status != status::ok) {
    ++(checked.status == status::denied ? service_.counters().denied : service_.counters().refused);
    reply(checked);
    return;
  }
  ++service_.counters().reads;
  service_.counters().read_bytes += left_;
  std::vector<std::byte>{}.swap(gathered_);  // left from an earlier write
  is_reading_ = true;
  next_piece();
}

// Makes the next answer of a read: several short ranges, copied, or the bytes of a long range in place.
void session::next_piece() {
  const std::size_t head_at = append(bytes_of(answer_head{}));
  std::size_t bytes = copy_short_ranges();
  if (bytes == 0 && left_ > 0) {
    bytes = std::min<std::uint64_t>(ranges_[range_].bytes, piece_bytes);
    const std::byte* const at = reach(ranges_[range_].address, bytes, rights::read);
    if (at == nullptr) {
      out_.resize(head_at);
      is_reading_ = false;
      ++service_.counters().denied;
      reply(refusal(status::denied, "the capability ended while the data was on its way"));
      return;
    }
    if (is_replicated())
      append({at, bytes});
    else
      piece_ = {at, bytes};
    advance(bytes);
  }
  hold();
  const answer_head head{
      static_cast<std::uint32_t>(bytes), 0, left_ > 0 ? flag_more : std::uint16_t{0}, head_.id, 0, 0};
  std::memcpy(out_.data() + head_at, &head, sizeof head);
  is_reading_ = left_ > 0;
}

// Copies short ranges, up to the first that is long or cannot be reached any more.
std::size_t session::copy_short_ranges() {
  std::size_t copied = 0;
  while (left_ > 0 && ranges_[range_].bytes <= copied_bytes && copied < most_waiting) {
    const std::uint64_t bytes = ranges_[range_].bytes;
    const std::byte* const at = reach(ranges_[range_].address, bytes, rights::read);
    if (at == nullptr) break;
    append({at, bytes});
    copied += bytes;
    advance(bytes);
  }
  return copied;
}

void session::begin_write(std::span<const std::byte> body) {
  gathered_bytes_ = 0;
  is_repeated_ = false;
  if (!service_.is_serving()) {
    failed_ = refusal(status::not_serving, "this server does not serve its memory now");
  } else if (std::optional<answer> known = service_.repeated(who(), head_)) {
    is_repeated_ = true;
    failed_ = *std::move(known);
  } else {
    failed_ = check_ranges(body, rights::write);
  }
  left_ = head_.bytes;  // the client sends this many bytes, whatever the ranges are
  if ((head_.flags & flag_two_steps) != 0) {
    if (failed_.status != status::ok) {
      end_write();
      return;
    }
    reply({}, flag_go_on);
  }
  step_ = step::data;
  if (left_ == 0) end_write();
}

void session::data_arrived(std::size_t bytes) {
  part_bytes_ += bytes;
  for (; part_bytes_ >= piece_bytes; part_bytes_ -= piece_bytes) ++parts_in_;
  if (is_gathering()) {
    gathered_bytes_ += bytes;
    left_ -= bytes;
    if (gathered_bytes_ == piece_bytes || left_ == 0) gathered();
  } else if (failed_.status == status::ok && !is_repeated_) {
    advance(bytes);
  } else {
    left_ -= bytes;
  }
  if (left_ == 0) end_write();
}

// Does a complete piece of a write and publishes it, at once.
void session::gathered() {
  std::vector<range> where;
  std::uint64_t found = 0;
  bool may = service_.is_serving();
  for (std::size_t i = range_; found < gathered_bytes_; ++i) {
    where.push_back({ranges_[i].address, std::min(ranges_[i].bytes, gathered_bytes_ - found)});
    found += where.back().bytes;
    may = may && reach(where.back().address, where.back().bytes, rights::write) != nullptr;
  }
  if (!may) {
    failed_ = service_.is_serving() ? refusal(status::denied, "the capability ended while the data was on its way")
                                    : refusal(status::not_serving, "this server serves its memory no more");
    return;
  }
  const std::span<const std::byte> data = std::span{gathered_}.first(gathered_bytes_);
  std::size_t from = 0;
  for (const range& each : where) {
    std::memcpy(reach(each.address, each.bytes, rights::write), data.data() + from, each.bytes);
    from += each.bytes;
  }
  service_.publish_bytes(where, data, who(), head_, left_ == 0);
  left_ += gathered_bytes_;
  for (const range& each : where) advance(each.bytes);
  gathered_bytes_ = 0;
}

void session::end_write() {
  step_ = step::request;
  if (failed_.status == status::ok) {
    ++service_.counters().writes;
    service_.counters().written_bytes += head_.bytes;
  } else if (failed_.status != status::not_serving) {
    ++(failed_.status == status::denied ? service_.counters().denied : service_.counters().refused);
  }
  reply(failed_);
}

// --- the next member of the chain ---

void session::begin_stream(std::span<const std::byte> body) {
  replica& member = *service_.member();
  const auto said = os::whole_value<follow_entry>(body);
  const bool is_one = said && service_.key_of(application_).is_operator;
  const status got = is_one ? member.accept(*said, service_.now_ns()) : status::denied;
  if (got != status::ok) {
    ++service_.counters().refused;
    return reply(refusal(got, "this server has another one behind it"));
  }
  reply({});
  stream_ = member.stream();
  next_ = said->node;
  step_ = step::stream;
}

void session::take_stream_answers() {
  for (stream_answer said; os::byte_reader{arrived()}.take(said);) {
    in_begin_ += sizeof said;
    if (service_.member()->stream() == stream_) service_.member()->acknowledge(said, service_.now_ns());
  }
}

// --- output ---

// Clears the output, and releases the memory of a long answer.
void session::forget_sent() {
  out_.clear();
  out_begin_ = 0;
  if (out_.capacity() > 4 * most_waiting) std::vector<std::byte>{}.swap(out_);
}

std::size_t session::append(std::span<const std::byte> bytes) {
  if (out_begin_ == out_.size()) forget_sent();
  const std::size_t at = out_.size();
  os::byte_writer{out_}.add_bytes(bytes);
  return at;
}

void session::reply(const answer& with, std::uint16_t flags) {
  append(bytes_of(answer_head{static_cast<std::uint32_t>(with.body.size()), static_cast<std::uint16_t>(with.status),
                              flags, head_.id, with.value, with.second}));
  append(with.body);
  hold();
}

// Holds back the output until all members have every change done so far.
void session::hold() noexcept {
  if (const replica* const member = service_.member(); member != nullptr && member->is_first())
    hold_ = member->position();
}
bool session::has_ended() const noexcept {
  return step_ == step::ended || (step_ == step::stream && service_.member()->stream() != stream_);
}
bool session::is_held() const noexcept {
  const replica* const member = service_.member();
  if (member == nullptr || step_ == step::ended || step_ == step::stream) return false;
  return (hold_ > member->acknowledged() && out_begin_ != out_.size()) || (step_ == step::data && member->is_full());
}
void session::cut() noexcept {
  if (step_ == step::stream) return;
  out_.clear();
  out_begin_ = 0;
  piece_ = {};
  passing_.close();
  is_reading_ = false;
  end(false);
}

session::pieces session::output() const noexcept {
  const replica* const member = service_.member();
  if (member == nullptr || step_ == step::login) return {std::span{out_}.subspan(out_begin_), piece_};
  if (step_ == step::stream && out_begin_ == out_.size())
    return {member->stream() == stream_ ? member->output() : std::span<const std::byte>{}, {}};
  if (step_ != step::stream && hold_ > member->acknowledged()) return {};
  return {std::span{out_}.subspan(out_begin_), piece_};
}

void session::sent(std::size_t bytes) {
  if (step_ == step::stream && out_begin_ == out_.size()) return service_.member()->sent(bytes);
  const std::size_t first = std::min(bytes, out_.size() - out_begin_);
  out_begin_ += first;
  piece_ = piece_.subspan(bytes - first);
  if (out_begin_ != out_.size() || !piece_.empty()) return;
  ++parts_out_;
  forget_sent();
  if (is_reading_) next_piece();
  take_requests();
}

void session::detach(std::span<const std::byte> from) {
  const std::less<const std::byte*> before;
  if (piece_.empty() || !before(piece_.data(), from.data() + from.size()) ||
      !before(from.data(), piece_.data() + piece_.size()))
    return;
  os::byte_writer{out_}.add_bytes(piece_);
  piece_ = {};
}

// While answers wait, the session does not look at received bytes, so it cannot tell whether more is owed. The name
// server decides how long to wait for other members of a chain.
party::debt session::owes_bytes() const noexcept {
  const bool is_owed = step_ == step::login || (is_within_message() && !is_blocked());
  return {is_owed && step_ != step::stream && !is_held(), parts_in_};
}
party::debt session::owes_taking() const noexcept {
  const bool is_owed = step_ == step::ended || out_begin_ != out_.size() || !piece_.empty();
  return {is_owed && step_ != step::stream && !is_held(), parts_out_};
}
bool session::is_within_message() const noexcept {
  return step_ == step::data || (step_ == step::request && in_begin_ != in_end_);
}

}  // namespace situ::rmem::detail
