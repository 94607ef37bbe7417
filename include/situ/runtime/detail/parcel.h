// A parcel: serialised values in one message, or, if they are too large, in a buffer of the sender's segment that the
// message names. The receiver reads the buffer in place, or fetches it (carry.h), and gives it back. Internal to the
// runtime; at, async_at and the collectives use it.
#pragma once

#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/serialize.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace situ::detail {

// Sends `words` and the filled buffer, which the receiver owns from then on.
template <std::size_t Words>
void send_buffer(outgoing& out, message_kind kind, function_id handler, const std::array<std::uint64_t, Words>& words,
                 ptr<std::byte> buffer, std::size_t bytes) {
  SITU_POINT(buffer_filled);
  write_back(buffer.local(), bytes);
  endpoint& self = *current->endpoint;
  draft message = self.begin(out, Words + 2, 0);
  for (std::uint32_t i = 0; i < Words; ++i) message.set_argument(i, words[i]);
  message.set_argument(Words, buffer.address());
  message.set_argument(Words + 1, bytes);
  self.send(message, kind, handler, 0);
}

// Sends `words` and exactly `bytes` bytes, which pack(wire_writer&) writes. Sends nothing if pack throws. Throws
// out_of_memory if a buffer is needed and there is no room, and place_lost_error.
template <std::size_t Words, class Pack>
void send_parcel(outgoing& out, message_kind kind, function_id handler, const std::array<std::uint64_t, Words>& words,
                 std::size_t bytes, Pack pack) {
  endpoint& self = *current->endpoint;
  if (bytes <= (cell::word_count - Words) * sizeof(std::uint64_t)) {
    return self.send_in_cell(out, kind, handler, words, static_cast<std::uint32_t>(bytes), [&](std::byte* payload) {
      wire_writer writer{payload};
      pack(writer);
    });
  }
  if (bytes <= max_medium_bytes) {
    draft message = self.begin(out, Words, static_cast<std::uint32_t>(bytes));
    for (std::uint32_t i = 0; i < Words; ++i) message.set_argument(i, words[i]);
    wire_writer writer{message.payload};
    pack(writer);
    return self.send(message, kind, handler, static_cast<std::uint32_t>(bytes));
  }
  const ptr<std::byte> buffer = situ::allocate_bytes(bytes);
  try {
    wire_writer writer{buffer.local()};
    pack(writer);
    send_buffer(out, kind, handler, words, buffer, bytes);
  } catch (...) {
    deallocate(buffer);
    throw;
  }
}

// Allocates a buffer; returns null if there is no room.
[[nodiscard]] ptr<std::byte> try_buffer(std::size_t bytes);

// Larger messages are always measured: a message that turns out to be small must not have used up others' budget.
inline constexpr std::size_t most_unmeasured_bytes = std::size_t{64} << 20;

// As send_parcel, for values whose measuring takes about as long as packing (is_long_to_measure): from the second
// large message on, pack writes into as much room as the last message took, and an eighth more. If the room is too
// small, pack has counted the bytes, and writes once more. room: bytes for this kind of message; measure() returns how
// many bytes pack writes.
template <std::size_t Words, class Measure, class Pack>
void send_unmeasured_parcel(outgoing& out, message_kind kind, function_id handler,
                            const std::array<std::uint64_t, Words>& words, std::size_t& room, Measure measure,
                            Pack pack) {
  ptr<std::byte> buffer;
  if (room > max_medium_bytes && room <= most_unmeasured_bytes) buffer = try_buffer(room);
  if (!buffer) {
    const std::size_t bytes = measure();
    room = bytes + bytes / 8;
    return send_parcel(out, kind, handler, words, bytes, pack);
  }
  std::size_t bytes = 0;
  try {
    wire_writer writer{buffer.local(), room};
    pack(writer);
    bytes = writer.bytes_since(buffer.local());
    const bool fits = bytes <= room;
    room = std::max(bytes + bytes / 8, room / 2);
    if (fits && bytes > max_medium_bytes) return send_buffer(out, kind, handler, words, buffer, bytes);
  } catch (...) {
    deallocate(buffer);
    throw;
  }
  deallocate(buffer);
  send_parcel(out, kind, handler, words, bytes, pack);
}

// The receiver's view of a parcel; the destructor gives the buffer back, if there is one.
class parcel {
 public:
  // pre: send_parcel sent the message with this many words. Throws bad_message if the buffer is not in the sender's
  // segment.
  parcel(const message& m, std::uint32_t words) : bytes_{m.payload}, size_{m.payload_bytes} {
    if (m.argument_count == words + 2) open_buffer(m, words);
  }
  parcel(const parcel&) = delete;
  parcel& operator=(const parcel&) = delete;
  ~parcel() { close(); }
  // Gives the buffer back; the caller reads nothing after it.
  void close() noexcept {
    if (buffer_) close_buffer();
  }
  [[nodiscard]] wire_reader reader() const noexcept { return {bytes_, size_}; }
  [[nodiscard]] bool is_in_buffer() const noexcept { return static_cast<bool>(buffer_); }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void open_buffer(const message& m, std::uint32_t words);
  void close_buffer() noexcept;
  const std::byte* bytes_;
  std::size_t size_;
  ptr<std::byte> buffer_;
};

// A parcel that stays valid after the message's room in the channel was released: it copies the message's payload to
// an address of the same alignment.
class kept_parcel {
 public:
  // As the constructor of parcel.
  kept_parcel(const message& m, std::uint32_t words) : parcel_{m, words} {
    if (parcel_.is_in_buffer()) return;
    const std::size_t phase = reinterpret_cast<std::uintptr_t>(parcel_.data()) % alignment;
    if (phase + parcel_.size() > sizeof(small_))
      large_.reset(new (std::align_val_t{alignment}) std::byte[phase + parcel_.size()]);
    at_ = (large_ ? large_.get() : small_) + phase;
    if (parcel_.size() != 0) std::memcpy(at_, parcel_.data(), parcel_.size());
  }
  [[nodiscard]] wire_reader reader() const noexcept {
    return at_ == nullptr ? parcel_.reader() : wire_reader{at_, parcel_.size()};
  }
  // Gives the buffer back; the caller reads nothing after it.
  void close() noexcept { parcel_.close(); }

 private:
  static constexpr std::size_t alignment = 16;
  struct give_back {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t{alignment}); }
  };
  parcel parcel_;
  std::byte* at_ = nullptr;
  std::unique_ptr<std::byte[], give_back> large_;
  alignas(alignment) std::byte small_[256];
};

}  // namespace situ::detail
