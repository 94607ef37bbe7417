#include "rmem/replica.h"

#include <algorithm>
#include <utility>

#include "os/bytes.h"

namespace situ::rmem::detail {

// --- batches ---

void change_batch::add(change_head head, std::span<const std::byte> data) {
  head.data_bytes = static_cast<std::uint32_t>(data.size());
  os::byte_writer{bytes_}.add(head).add_bytes(data);
}

void change_batch::add_bytes(std::span<const range> where, std::span<const std::byte> data) {
  change_head head{};
  head.kind = static_cast<std::uint32_t>(change_kind::bytes);
  head.data_bytes = static_cast<std::uint32_t>(where.size_bytes() + data.size());
  head.number = where.size();
  os::byte_writer{bytes_}.add(head).add_bytes(std::as_bytes(where)).add_bytes(data);
}

std::vector<std::byte> change_batch::message(stream_kind kind, std::uint64_t position) const {
  std::vector<std::byte> made;
  made.reserve(sizeof(stream_head) + bytes_.size());
  os::byte_writer{made}
      .add(stream_head{static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(kind), position})
      .add_bytes(bytes_);
  return made;
}

replica::replica(replica_state& state, std::uint64_t node, std::uint32_t index, std::uint32_t replicas,
                 std::uint64_t capacity, std::string_view endpoint)
    : state_{state} {
  wish_.node = node;
  wish_.index = index;
  wish_.replicas = replicas;
  wish_.capacity = capacity;
  wish_.endpoint = fixed<sizeof(endpoint_text)>(endpoint);
}

// --- the name server ---

// Returns the next member, or the node that joins behind the last; 0: none.
std::uint64_t replica::after_this() const noexcept {
  const std::size_t at = place();
  if (at == view_.members) return 0;
  return at + 1 < view_.members ? view_.chain[at + 1].node : view_.joining;
}

beat_entry replica::beat(std::uint64_t now_ns) const {
  beat_entry said = wish_;
  said.holds = view_;
  const std::uint64_t next = after_this();
  if (next == 0) return said;
  const bool is_joining = next == view_.joining;
  if (is_joining && promised_ == next && next_position_ >= complete_at_) said.synced = next;
  const bool is_late = next_ == 0 || !kept_.empty() || is_copying_;
  if (is_late && now_ns - progress_ns_ > (counts_ ? 1 : 5) * lease_ns_) said.lost = next;
  return said;
}

void replica::install(const view_entry& told, std::uint64_t asked_ns) {
  is_drained_ = told.is_drained != 0;
  if (told.epoch == 0 || !is_view(told) || (told.index == view_.index && told.epoch < view_.epoch)) return;
  const bool was_first = is_first();
  const bool was_member = is_member();
  const std::uint64_t was_behind = after_this();
  const bool was_joining = was_behind == view_.joining;
  const bool is_news = told.index != view_.index || told.epoch != view_.epoch;
  view_ = told;
  view_.lease_ms = 0;
  view_.is_drained = 0;
  if (told.lease_ms > 0) lease_ns_ = std::uint64_t{told.lease_ms} * 1'000'000;
  // A fifth less than the name server waits, for clocks of different speed.
  lease_end_ns_ = told.lease_ms > 0 ? asked_ns + lease_ns_ / 5 * 4 : 0;
  if (!is_news) return;
  if (is_member()) has_all_ = true;
  if (was_member && !is_member()) has_all_ = false;  // invariant 4
  // A node that was removed and joins again counts as another one: it has forgotten everything.
  const bool is_another = after_this() != was_behind || (!was_joining && after_this() == view_.joining);
  if (is_another) {
    end_stream();
    promised_ = 0;
  }
  if (source_ != wanted_source().node || (was_member && !is_member())) source_ = 0;
  progress_ns_ = asked_ns;
  look_whom_to_wait_for();
  if (was_first && !is_first()) state_.end_serving();
  if (!was_first && is_first()) state_.begin_serving();
}

// If no other member's acknowledgment counts, this one's own does.
void replica::look_whom_to_wait_for() {
  const std::size_t at = place();
  counts_ = at + 1 < view_.members || (promised_ != 0 && promised_ == view_.joining);
  if (!counts_) acknowledged_ = position_;
  drop_kept();
}

// --- changes ---

void replica::publish(const change_batch& changes, std::uint64_t now_ns) {
  keep(changes.message(stream_kind::batch, position_ + 1), now_ns);
}

void replica::keep(std::vector<std::byte> message, std::uint64_t now_ns) {
  ++position_;
  if (kept_.empty()) progress_ns_ = now_ns;
  if (counts_ || next_ != 0) {
    kept_bytes_ += message.size();
    kept_.push_back({position_, std::move(message)});
  }
  if (!counts_) acknowledged_ = position_;
  if (next_ != 0 && output().empty()) next_message();
}

// Invariant 2.
void replica::drop_kept() {
  while (!kept_.empty()) {
    const std::uint64_t first = kept_.front().position;
    if ((counts_ && first > acknowledged_) || (next_ != 0 && first > sent_position_)) return;
    kept_bytes_ -= kept_.front().message.size();
    kept_.pop_front();
  }
}

// --- to the next member ---

status replica::accept(const follow_entry& who, std::uint64_t now_ns) {
  if (view_.epoch == 0 || who.epoch != view_.epoch || who.node == 0 || who.node != after_this())
    return status::not_serving;
  const bool gets_all = who.node == view_.joining && who.node != promised_;
  const bool has_rest = who.position == position_ ||
                        (who.position < position_ && !kept_.empty() && kept_.front().position <= who.position + 1);
  if (!gets_all && !has_rest) return status::denied;
  end_stream();
  next_ = who.node;
  ++stream_;
  sent_position_ = gets_all ? position_ : who.position;
  next_position_ = sent_position_;
  progress_ns_ = now_ns;
  is_copying_ = gets_all;
  copied_to_ = 0;
  look_whom_to_wait_for();
  if (gets_all) {
    change_batch tables;
    change_head begin{};
    begin.kind = static_cast<std::uint32_t>(change_kind::begin);
    begin.address = view_.index;
    tables.add(begin);
    state_.add_tables(tables);
    now_ = tables.message(stream_kind::snapshot, position_);
  } else {
    next_message();
  }
  return status::ok;
}

void replica::end_stream() noexcept {
  next_ = 0;
  is_copying_ = was_part_ = false;
  now_.clear();
  now_sent_ = 0;
}
void replica::stream_ended(std::uint64_t which) noexcept {
  if (which != stream_ || next_ == 0) return;
  end_stream();
  look_whom_to_wait_for();
}

std::span<const std::byte> replica::output() const noexcept { return std::span{now_}.subspan(now_sent_); }

void replica::sent(std::size_t bytes) {
  now_sent_ += bytes;
  if (now_sent_ == now_.size()) next_message();
}

// Parts of a copy and batches take turns, so that neither waits for the end of the other. A part may hold bytes that a
// later batch brings again; done in order, the result is the same.
void replica::next_message() {
  now_.clear();
  now_sent_ = 0;
  if (next_ == 0) return;
  drop_kept();
  const auto unsent =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& e) { return e.position > sent_position_; });
  if (unsent == kept_.end() || (is_copying_ && !was_part_)) {
    was_part_ = true;
    if (is_copying_) next_part();
    return;
  }
  was_part_ = false;
  now_ = unsent->message;
  sent_position_ = unsent->position;
}

void replica::next_part() {
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  std::span<const std::byte> bytes;
  change_batch part;
  for (std::size_t skipped = 0; skipped < most_skipped_parts; ++skipped) {  // regions begin with zeros there, too
    bytes = state_.bytes_from(copied_to_);
    bytes = bytes.first(std::min(bytes.size(), part_bytes));
    if (bytes.empty() || !std::all_of(bytes.begin(), bytes.end(), is_zero)) break;
    copied_to_ += bytes.size();
  }
  if (bytes.empty()) {
    is_copying_ = false;
    now_ = part.message(stream_kind::complete, sent_position_);
    return;
  }
  const range where{copied_to_, bytes.size()};
  part.add_bytes({&where, 1}, bytes);
  copied_to_ += bytes.size();
  now_ = part.message(stream_kind::snapshot, sent_position_);
}

void replica::acknowledge(const stream_answer& said, std::uint64_t now_ns) {
  if (said.position > position_) return;
  progress_ns_ = now_ns;
  next_position_ = std::max(next_position_, said.position);
  if (said.is_complete == 1 && next_ == view_.joining && !is_copying_ && promised_ != next_) {
    promised_ = next_;
    complete_at_ = position_;
    look_whom_to_wait_for();
  }
  if (counts_) acknowledged_ = std::max(acknowledged_, said.position);
  drop_kept();
  if (output().empty()) next_message();
}

// --- from the previous member ---

member_entry replica::wanted_source() const noexcept {
  if (view_.epoch == 0) return {};
  const std::size_t at = place();
  if (at < view_.members) return at == 0 ? member_entry{} : view_.chain[at - 1];
  return view_.joining == wish_.node ? view_.chain[view_.members - 1] : member_entry{};
}
follow_entry replica::follow() const noexcept { return {wish_.node, view_.epoch, position_}; }
stream_answer replica::answer() const noexcept { return {acknowledged_, has_all_ ? 1U : 0U}; }

bool replica::hear(const stream_head& head, std::span<const std::byte> body, std::uint64_t now_ns) {
  switch (static_cast<stream_kind>(head.kind)) {
    case stream_kind::batch: {
      if (head.position != position_ + 1 || !apply(body)) return false;
      std::vector<std::byte> message;
      os::byte_writer{message}.add(head).add_bytes(body);
      keep(std::move(message), now_ns);
      return true;
    }
    case stream_kind::snapshot:
      if (is_member()) return false;
      has_all_ = false;
      position_ = acknowledged_ = head.position;
      return apply(body);
    case stream_kind::complete: has_all_ = true; return body.empty() && head.position == position_;
  }
  return false;
}

bool replica::apply(std::span<const std::byte> changes) {
  os::byte_reader from{changes};
  while (!from.is_empty()) {
    change_head head;
    if (!from.take(head)) return false;
    const std::span<const std::byte> data = from.take_bytes(head.data_bytes);
    if (from.has_failed() || !state_.apply(head, data)) return false;
  }
  return true;
}

}  // namespace situ::rmem::detail
