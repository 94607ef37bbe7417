// A channel carries active messages from one place to another: single producer, single consumer, in order.
//
// A channel is in the receiver's slice (the receiver polls it, so it should be near). It has two rings:
//
//   cells  [cell_count]   one cache line a message: header, handler, up to six arguments or a short payload
//   data   [data_bytes]   the rest of larger messages: further arguments, then the payload; each record contiguous
//
//   cell:  | sequence:32 source:15 payload_in_cell:1 kind:8 arguments:8 | payload_bytes:16 function_id:48 | words |
//          (two words of 64 bits, the highest bits first, and six more)
//
// In a job over several hosts a slice has one more pair of channels, for the host's server, which brings the messages
// of places of other hosts (src/cluster/delivery.h). In these channels `source` is the sending place, since the
// channel does not tell it; in all others it is 0.
//
// Invariants
//   1. Cells are numbered from 0 without end; number n is in cell n % cell_count and carries sequence n + 1 (mod 2^32).
//      The consumer waits for exactly that value, so cells are never cleared and it writes to no line of the ring.
//   2. The producer writes the rest of a cell and its data record before the header (release); the consumer reads the
//      header first (acquire).
//   3. The producer never has more than cell_count cells or data_bytes bytes unconsumed. It learns of consumption from
//      `consumed`. The consumer publishes its counts there after each quarter of the cells or of the data, and when it
//      leaves the channel if some data is unpublished: up to a quarter of the cells, but no data, stays unpublished.
//   4. Both ends compute a record's position by the same rule (next_record), so positions are never sent and a corrupt
//      message cannot direct the consumer outside the ring.
//
// The categories of messages are GASNet's (Bonachea, 2002; Willenberg and Chow, 2013, section 2.2). A cell is one
// cache line, so a short message costs one crossing (bench/core).
#pragma once

#include <situ/base/detail/signal_word.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

// A call is a medium message whose handler may wait (runtime/at.h); only a worker may run it.
enum class message_kind : std::uint8_t { short_message = 1, medium_message, long_message, call };

struct alignas(64) cell {
  static constexpr std::uint32_t word_count = 6;

  std::atomic<std::uint64_t> header;  // | sequence:32 | source:15 | payload in cell:1 | kind:8 | argument count:8 |
  std::uint64_t handler;              // | payload bytes:16 | function_id:48 |
  std::uint64_t words[word_count];
};
static_assert(sizeof(cell) == 64);

// The header of a message; `source` is 0 except in a server's channel.
[[nodiscard]] constexpr std::uint64_t cell_header(std::uint64_t number, message_kind kind, std::uint32_t arguments,
                                                  bool payload_in_cell, std::uint32_t source = 0) noexcept {
  return (number & 0xffff'ffff) << 32 | std::uint64_t{source} << 17 | std::uint64_t{payload_in_cell} << 16 |
         std::uint64_t{static_cast<std::uint8_t>(kind)} << 8 | arguments;
}
[[nodiscard]] constexpr std::uint32_t source_in(std::uint64_t header) noexcept {
  return static_cast<std::uint32_t>(header >> 17 & 0x7fff);
}

// The layout of a message: which parts are in its cell, and which in its record.
struct message_form {
  message_kind kind = message_kind::short_message;
  std::uint32_t arguments = 0;
  std::uint32_t payload_bytes = 0;
  bool payload_in_cell = false;

  // A long message keeps the last two words for the address and size of its payload.
  [[nodiscard]] constexpr std::uint32_t words_for_arguments() const noexcept {
    return kind == message_kind::long_message ? cell::word_count - 2 : cell::word_count;
  }
  [[nodiscard]] constexpr std::uint32_t arguments_in_cell() const noexcept {
    return std::min(arguments, words_for_arguments());
  }
  [[nodiscard]] constexpr std::uint32_t words_used() const noexcept {
    if (kind == message_kind::long_message) return cell::word_count;
    return arguments_in_cell() + (payload_in_cell ? (payload_bytes + 7) / 8 : 0);
  }
  [[nodiscard]] constexpr std::uint32_t record_bytes() const noexcept {
    const std::uint32_t more = (arguments - arguments_in_cell()) * 8;
    return payload_in_cell ? more : ((more + 15) & ~15U) + payload_bytes;
  }
};

struct channel {
  static constexpr std::uint32_t cell_count = 256;         // 16 KiB: stays in the first-level caches of both ends
  static constexpr std::uint32_t data_bytes = 128 * 1024;  // two of the largest medium messages
  static constexpr std::uint32_t record_alignment = 64;

  struct progress {
    std::atomic<std::uint64_t> cells{0};
    std::atomic<std::uint64_t> data{0};
  };

  alignas(64) progress consumed;  // written by the consumer
  // 1 while the producer sleeps for room; set by the producer, cleared by the consumer
  signal_word<std::uint32_t> producer_waits;
  alignas(64) cell cells[cell_count];
  alignas(64) std::byte data[data_bytes];
};
static_assert(sizeof(channel) == 128 + 16 * 1024 + 128 * 1024);

// The two channels of an ordered pair of places. Replies have their own channel, so that a flood of requests cannot
// block them.
struct alignas(4096) channel_pair {
  channel request;
  channel reply;
};

// The position of a record of `bytes` after `position` bytes were written: at the ring's start if it would cross the
// ring's end.
struct record_place {
  std::uint64_t begin;  // absolute position; offset in the ring is begin % data_bytes
  std::uint64_t end;
};
// Returns the size of a record in the ring: a multiple of 64 bytes.
[[nodiscard]] constexpr std::uint64_t bytes_in_ring(std::uint32_t record_bytes) noexcept {
  return (record_bytes + channel::record_alignment - 1) & ~std::uint64_t{channel::record_alignment - 1};
}
[[nodiscard]] constexpr record_place next_record(std::uint64_t position, std::uint32_t bytes) noexcept {
  const std::uint64_t size = bytes_in_ring(bytes);
  const std::uint64_t to_end = channel::data_bytes - position % channel::data_bytes;
  const std::uint64_t begin = size <= to_end ? position : position + to_end;
  return {begin, begin + size};
}

}  // namespace situ::detail
