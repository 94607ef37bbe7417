// A server as a member of a chain (views.h): it has its view and lease, and the changes that it has made and the next
// member has not. No socket, no thread, no clock.
//
// A *batch* is the changes of one request, all or nothing; batches are numbered from the chain's beginning on, and each
// member has done all up to its position, in that order.
//
// Invariants
//   1. Answers that tell of a position are held back until all members of the view have it (acknowledged()).
//   2. A batch is kept until it has been sent to the next member and, if that member's acknowledgment counts, until it
//      has been acknowledged.
//   3. The acknowledgment of a joining member counts from the moment at which it has everything, before the name server
//      hears of it, until there is a view without it: so the member has every acknowledged batch when the name server
//      appends it.
//   4. A member that was removed forgets everything before it joins again: its last changes may be its own alone.
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

// The changes of one request, or of a snapshot's part, in the form in which they are sent.
class change_batch {
 public:
  void add(change_head head, std::span<const std::byte> data = {});
  // Adds the bytes of several ranges, which `data` holds one after another.
  void add_bytes(std::span<const range> where, std::span<const std::byte> data);
  [[nodiscard]] bool is_empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  // Returns the changes as a message of the stream.
  [[nodiscard]] std::vector<std::byte> message(stream_kind kind, std::uint64_t position) const;

 private:
  std::vector<std::byte> bytes_;
};

// The server's state, as a replica changes and reads it.
class replica_state {
 public:
  virtual ~replica_state() = default;
  // Does a change that another member has made; returns false if it cannot be done here.
  virtual bool apply(const change_head& head, std::span<const std::byte> data) = 0;
  // Appends all state except the bytes of regions.
  virtual void add_tables(change_batch& to) const = 0;
  // Returns the first bytes at or behind `address`, and sets it to theirs; empty if there are none.
  [[nodiscard]] virtual std::span<const std::byte> bytes_from(std::uint64_t& address) const = 0;
  // The server serves from now on, or no longer: then no client may receive anything that is still held back.
  virtual void begin_serving() = 0;
  virtual void end_serving() = 0;
};

class replica {
 public:
  // The beats report index, replicas, capacity and endpoint.
  replica(replica_state& state, std::uint64_t node, std::uint32_t index, std::uint32_t replicas, std::uint64_t capacity,
          std::string_view endpoint);

  [[nodiscard]] std::uint64_t node() const noexcept { return wish_.node; }
  [[nodiscard]] const view_entry& view() const noexcept { return view_; }
  [[nodiscard]] bool is_first() const noexcept { return place() == 0 && view_.members > 0; }
  // Returns true if the server may do the requests of clients.
  [[nodiscard]] bool is_serving(std::uint64_t now_ns) const noexcept { return is_first() && now_ns < lease_end_ns_; }
  [[nodiscard]] bool is_drained() const noexcept { return is_drained_; }

  // beat() returns the report to the name server. install() takes the view in the answer to the beat sent at
  // `asked_ns`.
  [[nodiscard]] beat_entry beat(std::uint64_t now_ns) const;
  void install(const view_entry& told, std::uint64_t asked_ns);

  // Numbers the changes of a request as the next batch, and sends it on. pre: the server serves and has done them
  // already.
  void publish(const change_batch& changes, std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  // Returns true if the next member is so far behind that clients have to wait.
  [[nodiscard]] bool is_full() const noexcept { return kept_bytes_ > most_kept_bytes; }

  // --- to the next member ---

  // Accepts the next member, or the joining one; the stream then begins with the batches that it lacks, or with a full
  // copy.
  [[nodiscard]] status accept(const follow_entry& who, std::uint64_t now_ns);
  // Returns the stream's number: a stream with another number is over. 0: there is none.
  [[nodiscard]] std::uint64_t stream() const noexcept { return next_ == 0 ? 0 : stream_; }
  [[nodiscard]] std::span<const std::byte> output() const noexcept;
  void sent(std::size_t bytes);
  void acknowledge(const stream_answer& said, std::uint64_t now_ns);
  void stream_ended(std::uint64_t which) noexcept;

  // --- from the previous member ---

  // Returns the member that this one should be connected to; node 0: none.
  [[nodiscard]] member_entry wanted_source() const noexcept;
  [[nodiscard]] follow_entry follow() const noexcept;
  // Notes the connection to the previous member. A copy received earlier counts for nothing: the new source must
  // confirm that this member has everything.
  void source_connected(std::uint64_t node) noexcept {
    source_ = node;
    if (!is_member()) has_all_ = false;
  }
  void source_ended() noexcept { source_ = 0; }
  [[nodiscard]] std::uint64_t source() const noexcept { return source_; }
  // Takes a whole message of the stream. Returns false if it is malformed or cannot be done here: then the stream is
  // over.
  [[nodiscard]] bool hear(const stream_head& head, std::span<const std::byte> body, std::uint64_t now_ns);
  [[nodiscard]] stream_answer answer() const noexcept;

 private:
  static constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;
  static constexpr std::size_t part_bytes = std::size_t{256} * 1024;  // of a snapshot
  static constexpr std::size_t most_skipped_parts = 64;               // of zeros, before clients get their turn

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
  bool has_all_ = false;  // it is a member, or the previous member says that it has everything
  bool is_drained_ = false;

  std::uint64_t position_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::deque<kept_batch> kept_;
  std::size_t kept_bytes_ = 0;

  std::uint64_t next_ = 0;  // the node that the stream goes to; 0: none
  std::uint64_t stream_ = 0;
  bool counts_ = false;      // clients wait for the next node's acknowledgments
  bool is_copying_ = false;  // the next node first receives a full copy
  std::uint64_t copied_to_ = 0;
  std::uint64_t promised_ = 0;       // the joining node that has reported that it has everything: invariant 3
  std::uint64_t complete_at_ = 0;    // the position that it must acknowledge before the beats report it
  std::uint64_t next_position_ = 0;  // the position that it has acknowledged
  bool was_part_ = false;            // the last message was a copy's part: parts and batches take turns
  std::uint64_t sent_position_ = 0;
  std::vector<std::byte> now_;  // the message being sent
  std::size_t now_sent_ = 0;
  std::uint64_t progress_ns_ = 0;

  std::uint64_t source_ = 0;
};

}  // namespace situ::rmem::detail
