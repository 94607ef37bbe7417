#include "rmem/follower.h"

#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "os/bytes.h"

namespace situ::rmem::detail {

follower::follower(service& of, std::uint64_t source) : service_{of}, source_{source} {
  service_.member()->source_connected(source_);
}
follower::~follower() {
  if (service_.member()->source() == source_) service_.member()->source_ended();
}

// Returns true also if another source, or none, is wanted by now: a newer view has moved or removed that member.
bool follower::has_ended() const noexcept { return is_bad_ || service_.member()->source() != source_; }

void follower::lost(std::string_view /*why*/) {
  if (!has_ended()) service_.report_neighbour(source_);
}

// While the next member takes nothing, this one receives nothing more.
std::span<std::byte> follower::room() {
  if (has_ended() || service_.member()->is_full()) return {};
  std::size_t wanted = read_bytes;
  if (stream_head head; os::byte_reader{std::span{in_}.first(in_end_)}.take(head)) wanted += head.bytes;
  if (in_.size() < in_end_ + read_bytes) in_.resize(std::max(in_end_ + read_bytes, std::min(wanted, 2 * in_.size())));
  return std::span{in_}.subspan(in_end_);
}

void follower::received(std::size_t bytes) {
  in_end_ += bytes;
  std::size_t at = 0;
  os::byte_reader from{std::span{in_}.first(in_end_)};
  for (stream_head head; !has_ended() && from.take(head);) {
    const bool is_table = static_cast<stream_kind>(head.kind) == stream_kind::snapshot;
    is_bad_ = head.bytes > (is_table ? most_table_bytes : most_stream_bytes);
    if (is_bad_) break;
    const std::span<const std::byte> body = from.take_bytes(head.bytes);
    if (from.has_failed()) break;
    is_bad_ = !service_.member()->hear(head, body, service_.now_ns());
    at += sizeof head + head.bytes;
  }
  if (is_bad_)
    log(log_level::warning,
        fmt::format("remote memory: what the replica at {} has changed cannot be changed here: another key file, or "
                    "less memory?",
                    text_of(service_.member()->wanted_source().endpoint)));
  std::memmove(in_.data(), in_.data() + at, in_end_ - at);
  in_end_ -= at;
  look();
}

void follower::look() {
  const stream_answer now = service_.member()->answer();
  if (out_left_ > 0 || has_ended() || (now.position == said_.position && now.is_complete == said_.is_complete)) return;
  said_ = out_ = now;
  out_left_ = sizeof out_;
}

party::pieces follower::output() const noexcept { return {bytes_of(out_).last(out_left_), {}}; }
void follower::sent(std::size_t bytes) {
  out_left_ -= bytes;
  look();
}

}  // namespace situ::rmem::detail
