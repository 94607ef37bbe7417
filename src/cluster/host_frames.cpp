#include "cluster/host_frames.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cluster/protocol.h"

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

constexpr frame_kind last_kind = frame_kind::clock;

[[noreturn]] void refuse(std::string_view what) { throw_error(errc::bad_message, what); }

// Packs values, which read_bytes reads in the same order.
class packed_bytes {
 public:
  template <class T>
  packed_bytes& add(T number) {
    const auto* const begin = reinterpret_cast<const std::byte*>(&number);
    made_.insert(made_.end(), begin, begin + sizeof number);
    return *this;
  }
  packed_bytes& add_bytes(std::span<const std::byte> bytes) {
    add(static_cast<std::uint32_t>(bytes.size()));
    made_.insert(made_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  packed_bytes& add_text(std::string_view text) { return add_bytes(std::as_bytes(std::span{text})); }
  packed_bytes& add_texts(const std::vector<std::string>& texts) {
    add(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) add_text(text);
    return *this;
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(made_); }

 private:
  std::vector<std::byte> made_;
};

class read_bytes {
 public:
  explicit read_bytes(std::span<const std::byte> bytes, std::string_view what) : left_{bytes}, what_{what} {}
  template <class T>
  [[nodiscard]] T number() {
    return read_wire<T>(taken(sizeof(T)));
  }
  [[nodiscard]] std::span<const std::byte> bytes() { return taken(number<std::uint32_t>()); }
  // Reads the count of a list whose items have at least `least_bytes` bytes; refuses more than the bytes can hold.
  [[nodiscard]] std::uint32_t count(std::size_t least_bytes) {
    const auto found = number<std::uint32_t>();
    if (found > left_.size() / least_bytes) refuse(fmt::format("{} of a wrong length", what_));
    return found;
  }
  [[nodiscard]] std::string text() {
    const std::span<const std::byte> found = bytes();
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  [[nodiscard]] std::vector<std::string> texts() {
    std::vector<std::string> all(count(sizeof(std::uint32_t)));
    for (std::string& each : all) each = text();
    return all;
  }
  void end() const {
    if (!left_.empty()) refuse(fmt::format("{} of a wrong length", what_));
  }

 private:
  std::span<const std::byte> taken(std::size_t bytes) {
    if (bytes > left_.size()) refuse(fmt::format("{} of a wrong length", what_));
    const std::span<const std::byte> first = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return first;
  }
  std::span<const std::byte> left_;
  std::string_view what_;
};

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
  std::vector<std::byte> made(sizeof head + bytes.size());
  std::memcpy(made.data(), &head, sizeof head);
  std::copy(bytes.begin(), bytes.end(), made.begin() + sizeof head);
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
  if (left.size() < sizeof(frame_head)) return std::nullopt;
  const auto head = read_wire<frame_head>(left);
  if (head.bytes > most_frame_bytes || head.what > last_kind || head.zero != 0 || head.zeros != 0)
    refuse(fmt::format("no frame, but \"{}\"", shown(left)));
  if (left.size() - sizeof head < head.bytes) return std::nullopt;
  const std::span<const std::byte> carried = left.subspan(sizeof head, head.bytes);
  used_ += sizeof head + head.bytes;
  return host_frame{.what = head.what, .place = head.place, .bytes = {carried.begin(), carried.end()}};
}

std::vector<std::byte> pack(const agent_hello& hello) {
  return packed_bytes{}.add(hello.version).add(hello.build).take();
}

agent_hello unpack_hello(std::span<const std::byte> bytes) {
  read_bytes from{bytes, "a greeting"};
  agent_hello hello{.version = from.number<std::uint32_t>()};
  hello.build = from.number<std::uint64_t>();
  from.end();
  return hello;
}

std::vector<std::byte> pack(const agent_start& start) {
  packed_bytes to;
  to.add(start.host).add_bytes(std::as_bytes(std::span{start.homes}));
  to.add_texts(start.arguments).add_text(start.folder).add_text(start.first_host).add_texts(start.variables);
  to.add_text(start.memory).add_text(start.intent);
  to.add(start.memory_budget).add(start.stack_bytes).add(start.grace_ms).add(start.time_limit_ms);
  to.add(start.how).add(start.binding);
  return to.take();
}

agent_start unpack_start(std::span<const std::byte> bytes) {
  read_bytes from{bytes, "a start"};
  agent_start start{.host = from.number<std::uint16_t>()};
  const std::span<const std::byte> homes = from.bytes();
  if (homes.size() % sizeof(std::uint16_t) != 0) refuse("a start of a wrong length");
  start.homes.resize(homes.size() / sizeof(std::uint16_t));
  std::copy(homes.begin(), homes.end(), std::as_writable_bytes(std::span{start.homes}).begin());
  start.arguments = from.texts();
  start.folder = from.text();
  start.first_host = from.text();
  start.variables = from.texts();
  start.memory = from.text();
  start.intent = from.text();
  for (std::uint64_t* const each : {&start.memory_budget, &start.stack_bytes, &start.grace_ms, &start.time_limit_ms})
    *each = from.number<std::uint64_t>();
  start.how = from.number<std::uint32_t>();
  start.binding = from.number<std::uint32_t>();
  from.end();
  if (start.homes.empty() || std::find(start.homes.begin(), start.homes.end(), start.host) == start.homes.end())
    refuse("a start without places");
  if (start.arguments.empty()) refuse("a start without a program");
  return start;
}

std::vector<std::byte> pack(const place_end& end) { return packed_bytes{}.add(end.code).add(end.signal).take(); }

place_end unpack_end(std::span<const std::byte> bytes) {
  read_bytes from{bytes, "a place's end"};
  place_end end{.code = from.number<std::int32_t>()};
  end.signal = from.number<std::int32_t>();
  from.end();
  return end;
}

std::vector<std::byte> pack(const std::vector<std::vector<std::byte>>& list) {
  packed_bytes to;
  to.add(static_cast<std::uint32_t>(list.size()));
  for (const std::vector<std::byte>& each : list) to.add_bytes(each);
  return to.take();
}

std::vector<std::vector<std::byte>> unpack_list(std::span<const std::byte> bytes) {
  read_bytes from{bytes, "a list"};
  std::vector<std::vector<std::byte>> list(from.count(sizeof(std::uint32_t)));
  for (std::vector<std::byte>& each : list) {
    const std::span<const std::byte> found = from.bytes();
    each.assign(found.begin(), found.end());
  }
  from.end();
  return list;
}

std::int32_t unpack_signal(std::span<const std::byte> bytes) {
  read_bytes from{bytes, "a signal"};
  const auto signal = from.number<std::int32_t>();
  from.end();
  return signal;
}

std::string_view text_of(const host_frame& frame) noexcept {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

}  // namespace situ::detail::cluster
