#include "launch/host_frames.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>

#include "os/bytes.h"

namespace situ::detail::cluster {
namespace {

struct frame_head {
  std::uint32_t bytes = 0;
  frame_kind what = frame_kind::hello;
  std::uint8_t zero = 0;
  std::uint16_t zeros = 0;
  std::uint32_t place = 0;
};
static_assert(sizeof(frame_head) == 12);

constexpr frame_kind last_kind = frame_kind::status;

[[noreturn]] void refuse(std::string_view what) { throw_error(errc::bad_message, what); }

// Throws if a field was not there, or if more than the fields is there.
void check_end(const os::byte_reader& from, std::string_view what) {
  if (!from.is_done()) refuse(fmt::format("{} of a wrong length", what));
}

void add_texts(os::byte_writer& to, const std::vector<std::string>& texts) {
  to.add_count(texts.size());
  for (const std::string& text : texts) to.add_sized_text(text);
}
std::vector<std::string> take_texts(os::byte_reader& from) {
  std::vector<std::string> texts(from.take_count(sizeof(std::uint32_t)));
  for (std::string& each : texts) each = from.take_sized_text();
  return texts;
}

// Returns the printable start of the bytes: they may be text that a shell has written.
std::string shown(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes.first(std::min<std::size_t>(bytes.size(), 60))) {
    const char c = static_cast<char>(each);
    if (c == '\n') break;
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

}  // namespace

std::vector<std::byte> pack_frame(frame_kind what, std::uint32_t place, std::span<const std::byte> bytes) {
  const frame_head head{.bytes = static_cast<std::uint32_t>(bytes.size()), .what = what, .place = place};
  std::vector<std::byte> made;
  made.reserve(sizeof head + bytes.size());
  os::byte_writer{made}.add(head).add_bytes(bytes);
  return made;
}

std::vector<std::byte> pack_frame(frame_kind what, std::uint32_t place, std::string_view text) {
  return pack_frame(what, place, std::as_bytes(std::span{text}));
}

void frame_reader::take(std::span<const std::byte> bytes) {
  come_.erase(come_.begin(), come_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
  come_.insert(come_.end(), bytes.begin(), bytes.end());
}

std::optional<host_frame> frame_reader::next() {
  const std::span<const std::byte> left = std::span{come_}.subspan(used_);
  os::byte_reader from{left};
  frame_head head;
  if (!from.take(head)) return std::nullopt;
  if (head.bytes > most_frame_bytes || head.what > last_kind || head.zero != 0 || head.zeros != 0)
    refuse(fmt::format("no frame, but \"{}\"", shown(left)));
  const std::span<const std::byte> carried = from.take_bytes(head.bytes);
  if (from.has_failed()) return std::nullopt;
  used_ += sizeof head + head.bytes;
  return host_frame{.what = head.what, .place = head.place, .bytes = {carried.begin(), carried.end()}};
}

std::vector<std::byte> pack(const agent_hello& hello) {
  std::vector<std::byte> made;
  os::byte_writer{made}.add(hello.version, hello.build);
  return made;
}

agent_hello unpack_hello(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  agent_hello hello;
  from.take(hello.version, hello.build);
  check_end(from, "a greeting");
  return hello;
}

std::vector<std::byte> pack(const agent_start& start) {
  std::vector<std::byte> made;
  os::byte_writer to{made};
  to.add(start.host).add_sized(std::as_bytes(std::span{start.homes}));
  add_texts(to, start.arguments);
  to.add_sized_text(start.folder).add_sized_text(start.first_host);
  add_texts(to, start.variables);
  to.add_sized_text(start.memory).add_sized_text(start.intent);
  to.add(start.memory_budget, start.stack_bytes, start.grace_ms, start.time_limit_ms, start.how, start.binding);
  return made;
}

agent_start unpack_start(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  agent_start start;
  from.take(start.host);
  const std::span<const std::byte> homes = from.take_sized();
  if (homes.size() % sizeof(std::uint16_t) != 0) refuse("a start of a wrong length");
  start.homes = os::values_of<std::uint16_t>(homes);
  start.arguments = take_texts(from);
  start.folder = from.take_sized_text();
  start.first_host = from.take_sized_text();
  start.variables = take_texts(from);
  start.memory = from.take_sized_text();
  start.intent = from.take_sized_text();
  from.take(start.memory_budget, start.stack_bytes, start.grace_ms, start.time_limit_ms, start.how, start.binding);
  check_end(from, "a start");
  if (start.homes.empty() || std::find(start.homes.begin(), start.homes.end(), start.host) == start.homes.end())
    refuse("a start without places");
  if (start.arguments.empty()) refuse("a start without a program");
  return start;
}

std::vector<std::byte> pack(const place_end& end) {
  std::vector<std::byte> made;
  os::byte_writer{made}.add(end.code, end.signal);
  return made;
}

place_end unpack_end(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  place_end end;
  from.take(end.code, end.signal);
  check_end(from, "a place's end");
  return end;
}

std::vector<std::byte> pack(const std::vector<std::vector<std::byte>>& list) {
  std::vector<std::byte> made;
  os::byte_writer to{made};
  to.add_count(list.size());
  for (const std::vector<std::byte>& each : list) to.add_sized(each);
  return made;
}

std::vector<std::vector<std::byte>> unpack_list(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  std::vector<std::vector<std::byte>> list(from.take_count(sizeof(std::uint32_t)));
  for (std::vector<std::byte>& each : list) {
    const std::span<const std::byte> found = from.take_sized();
    each.assign(found.begin(), found.end());
  }
  check_end(from, "a list");
  return list;
}

std::int32_t unpack_signal(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  const auto signal = from.take<std::int32_t>();
  check_end(from, "a signal");
  return signal;
}

std::uint64_t unpack_number(std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  const auto number = from.take<std::uint64_t>();
  check_end(from, "a number");
  return number;
}

std::vector<std::byte> pack(const host_look& look) {
  std::vector<std::byte> made;
  os::byte_writer{made}.add(look.number, look.ends, look.how).add_bytes(std::as_bytes(std::span{look.traffic}));
  return made;
}

host_look unpack_look(std::span<const std::byte> bytes, std::uint16_t hosts) {
  os::byte_reader from{bytes};
  host_look look;
  look.traffic.resize(hosts);
  from.take(look.number, look.ends, look.how);
  from.fill(std::span{look.traffic});
  check_end(from, "a look");
  return look;
}

std::string_view text_of(const host_frame& frame) noexcept { return os::text_of(frame.bytes); }

}  // namespace situ::detail::cluster
