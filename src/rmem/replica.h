// A server as a member of a chain (views.h): its view and lease, the changes that it has made and the next one has not,
// and what it remembers of clients so that a request which is sent again is done once. No socket, no thread, no clock.
//
// A *batch* is what one request changed, all or nothing; batches are numbered from the chain's beginning on, and each
// member has done all up to its position, in that order.
//
// Invariants
//   1. What clients hear of a position is held back until all members of the view have it (acknowledged()).
//   2. A batch is kept until the next member has been sent it and, where its acknowledgment counts, has acknowledged.
//   3. Who joins counts from the moment on at which it has everything, before the name server hears of it, and until
//      there is a view without it: so it has whatever is acknowledged when the name server appends it.
//   4. A member that was put out forgets everything before it joins again: its last changes may be its own alone.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "rmem/protocol.h"
#include "rmem/views.h"

namespace situ::rmem::detail {

// The changes of one request, or of a snapshot's part, as they are sent.
class change_batch {
 public:
  void add(change_head head, std::span<const std::byte> data = {});
  // Bytes of several ranges, which lie one behind another in data.
  void add_bytes(std::span<const range> where, std::span<const std::byte> data);
  [[nodiscard]] bool is_empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  // As a message of the stream.
  [[nodiscard]] std::vector<std::byte> message(stream_kind kind, std::uint64_t position) const;

 private:
  std::vector<std::byte> bytes_;
};

// What a replica asks to be done by the server that it is a part of.
class replica_state {
 public:
  virtual ~replica_state() = default;
  // One change of another one; false where it cannot be done here.
  virtual bool apply(const change_head& head, std::span<const std::byte> data) = 0;
  // Everything but the bytes of regions.
  virtual void add_tables(change_batch& to) const = 0;
  // The first bytes at or behind an address; empty: there are none.
  [[nodiscard]] virtual std::span<const std::byte> bytes_from(std::uint64_t& address) const = 0;
  // It serves from now on, or no more: then no client may hear anything that is still held back.
  virtual void begin_serving() = 0;
  virtual void end_serving() = 0;
};

class replica {
 public:
  // wish: the beats say it.
  replica(replica_state& state, std::uint64_t node, std::uint32_t index, std::uint32_t replicas, std::uint64_t capacity,
          std::string_view endpoint);

  [[nodiscard]] std::uint64_t node() const noexcept { return wish_.node; }
  [[nodiscard]] const view_entry& view() const noexcept { return view_; }
  [[nodiscard]] bool is_first() const noexcept { return place() == 0 && view_.members > 0; }
  // Whether it may do what clients ask for.
  [[nodiscard]] bool is_serving(std::uint64_t now_ns) const noexcept { return is_first() && now_ns < lease_end_ns_; }
  [[nodiscard]] bool is_drained() const noexcept { return is_drained_; }

  // What it says of itself; and what it was told, by an answer to what it said at `asked_ns`.
  [[nodiscard]] beat_entry beat(std::uint64_t now_ns) const;
  void install(const view_entry& told, std::uint64_t asked_ns);

  // pre: it serves. The changes of a request are done here already.
  void publish(const change_batch& changes, std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  // So much waits for the next member that clients have to wait.
  [[nodiscard]] bool is_full() const noexcept { return kept_bytes_ > most_kept_bytes; }

  // --- to the next one ---

  // Whether it may be sent everything from now on; then the stream begins with what it lacks.
  [[nodiscard]] status accept(const follow_entry& who, std::uint64_t now_ns);
  // A number for each stream: one that has been replaced is over.
  [[nodiscard]] std::uint64_t stream() const noexcept { return next_ == 0 ? 0 : stream_; }
  [[nodiscard]] std::span<const std::byte> output() const noexcept;
  void sent(std::size_t bytes);
  void acknowledge(const stream_answer& said, std::uint64_t now_ns);
  void stream_ended(std::uint64_t which) noexcept;

  // --- from the one before ---

  // Whom it should be connected to; node 0: nobody.
  [[nodiscard]] member_entry wanted_source() const noexcept;
  [[nodiscard]] follow_entry follow() const noexcept;
  // What it had of an earlier copy counts for nothing: it is to say so of this one.
  void source_connected(std::uint64_t node) noexcept {
    source_ = node;
    if (!is_member()) has_all_ = false;
  }
  void source_ended() noexcept { source_ = 0; }
  [[nodiscard]] std::uint64_t source() const noexcept { return source_; }
  // A whole message of the stream. False where it is none, or cannot be done here: then the stream is over.
  [[nodiscard]] bool hear(const stream_head& head, std::span<const std::byte> body, std::uint64_t now_ns);
  [[nodiscard]] stream_answer answer() const noexcept;

 private:
  static constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;
  static constexpr std::size_t part_bytes = std::size_t{256} * 1024;  // of a snapshot
  static constexpr std::size_t most_skipped_parts = 64;               // before it is the clients' turn

  struct kept_batch {
    std::uint64_t position;
    std::vector<std::byte> message;
  };

  [[nodiscard]] std::size_t place() const noexcept { return place_in(view_, wish_.node); }
  [[nodiscard]] bool is_member() const noexcept { return place() < view_.members; }
  [[nodiscard]] std::uint64_t after_this() const noexcept;
  void keep(std::vector<std::byte> message, std::uint64_t now_ns);
  void drop_kept();
  void end_stream() noexcept;
  void look_whom_to_wait_for();
  void next_message();
  void next_part();
  [[nodiscard]] bool apply(std::span<const std::byte> changes);

  replica_state& state_;
  beat_entry wish_{};
  view_entry view_{};
  std::uint64_t lease_end_ns_ = 0;
  std::uint64_t lease_ns_ = 400'000'000;
  bool has_all_ = false;  // it is a member, or the one before says that it lacks nothing
  bool is_drained_ = false;

  std::uint64_t position_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::deque<kept_batch> kept_;
  std::size_t kept_bytes_ = 0;

  std::uint64_t next_ = 0;  // who is sent to; 0: nobody
  std::uint64_t stream_ = 0;
  bool counts_ = false;      // whether its acknowledgments are waited for
  bool is_copying_ = false;  // it is sent everything first
  std::uint64_t copied_to_ = 0;
  std::uint64_t promised_ = 0;       // who joins and has said that it has everything: invariant 3
  std::uint64_t complete_at_ = 0;    // the position that it has to acknowledge to be told of
  std::uint64_t next_position_ = 0;  // what it has acknowledged
  bool was_part_ = false;            // so that parts and batches take turns
  std::uint64_t sent_position_ = 0;
  std::vector<std::byte> now_;  // the message that is on its way
  std::size_t now_sent_ = 0;
  std::uint64_t progress_ns_ = 0;

  std::uint64_t source_ = 0;
};

}  // namespace situ::rmem::detail
