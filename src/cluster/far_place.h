// A place's end of the operations that it asks of other hosts: outstanding operations, by tags, and their answers.
//
// An operation is cut into pieces of at most most_piece_bytes, of which a few are outstanding at once (far_pieces.h).
// Each piece has an entry of the table; its tag is the entry's index and the count of the entry's uses. The caller
// waits as a task does, if it can; otherwise it takes in answers and does nothing else. A message stays in its window,
// which is as large as a channel, until the target's server reports that the message has gone into the target's
// channel. An answer that no caller waits for any more, or that does not fit, is counted and dropped. The place's
// thread and its registered threads may call all members.
#pragma once

#include <situ/base/error_code.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/far.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cluster/protocol.h"
#include "cluster/wire.h"
#include "memory/bell.h"

namespace situ::detail {
enum class shown_part : std::uint64_t;  // fabric/observe.h
}

namespace situ::detail::cluster {

class far_place final : public far_hosts, private wire_receiver {
 public:
  // context: the place's. servers: the peer by which each host's server is reached. All arguments outlive this.
  far_place(place_context& context, std::span<const place_home> homes, std::uint16_t host, host_wire& to,
            std::vector<wire_peer> servers);
  // Waits until the blocks that were given back have arrived. pre: no caller waits.
  ~far_place() override;

  void put(std::uintptr_t to, const void* from, std::size_t bytes) override;
  void get(void* to, std::uintptr_t from, std::size_t bytes) override;
  void move_box(access how, const strided_box& box) override;
  std::uint64_t atomic(const word_request& request) override;
  void put_signal(std::uintptr_t to, const void* from, std::size_t bytes, const signal_change& signal) override;
  void give_back(std::uintptr_t block) noexcept override;
  void arrive(host_barrier which, std::uint64_t round) noexcept override;

  // Returns the steady clock of that host's server, at the time when the server is asked. Throws place_lost_error.
  // cost: a round trip.
  [[nodiscard]] std::uint64_t time_at(std::uint16_t host);
  // Reads bytes that an observed place of another host shows of itself: from `offset` of that part on.
  // Throws bad_address if the part is shorter, place_lost_error if the host is lost; the place itself may have ended.
  // cost: a round trip for each MiB, of which some are outstanding at once.
  void look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to);

  // Waits until is_done(asked), as a task of this place; returns false if the caller cannot (a handler, a registered
  // thread).
  using task_waiter = bool (*)(bool (*is_done)(void*), void* asked, std::uint32_t target);
  // From now on a caller that waits first waits for first_ns as without a task waiter, then by `waiter`. Without a
  // waiter, and if the waiter returns false, the caller takes in answers and sleeps until some arrive; the place does
  // nothing else during that time.
  void set_task_waiter(task_waiter waiter, std::int64_t first_ns = 0) noexcept {
    task_waiter_ = waiter;
    first_wait_ns_ = first_ns;
  }

  channel& window(std::uint32_t place, bool is_reply) override;
  void carry(const outgoing& out, const cell& c, const message_form& form) noexcept override;
  void want_room(const outgoing& out) noexcept override;

  bool poll() override;
  [[nodiscard]] bool is_outstanding() const noexcept override {
    return under_way_.load(std::memory_order_relaxed) != 0 || wants_room_.load(std::memory_order_relaxed) ||
           is_sending_.load(std::memory_order_relaxed);
  }
  bool sleep(std::int64_t timeout_ns) noexcept override;
  // Returns true if each message sent so far is in a channel of its target, or never will be. Asks the servers for the
  // credits that are missing.
  [[nodiscard]] bool has_delivered() noexcept;
  // Marks the host as lost: outstanding operations there end with place_lost_error, as do all later ones. pre: the
  // wire brings nothing of that host any more.
  void lose_host(std::uint16_t host, std::string_view reason);

  struct counts {
    std::uint64_t answers = 0;
    std::uint64_t messages = 0;  // sent
    std::uint64_t credits = 0;
    std::uint64_t dropped = 0;  // messages that answer no outstanding operation
  };
  [[nodiscard]] counts count();

 private:
  // An entry of the table. A waiting caller reads `done` without the lock.
  struct outstanding {
    std::atomic<bool> done{true};
    bool is_given_back = false;  // no caller waits: the entry is free once it is answered
    std::uint32_t use = 0;
    std::uint32_t next_free = 0;
    std::uint32_t target = 0;
    std::byte* to = nullptr;  // destination of a get
    std::uint64_t bytes = 0;  // bytes that the answer brings
    std::uint64_t value = 0;
    std::uint32_t status = 0;  // as in answer_head
    std::string text;
  };
  class pieces;  // far_pieces.h
  // This place's end of a channel to a place of another host.
  struct sending {
    std::unique_ptr<channel> ring;
    std::uint64_t sent = 0;
    std::uint64_t data_sent = 0;
    bool has_asked = false;  // for credit, since the last credit came
  };

  [[nodiscard]] std::uint32_t place_of(std::uintptr_t address) const noexcept;
  [[nodiscard]] std::uintptr_t slice_of(std::uint32_t place) const noexcept;
  // Takes an entry and sends the operation. pre: the lock is held, and an entry is free.
  std::uint32_t send(operation_head head, std::span<const std::byte> shape, std::span<const std::byte> data,
                     std::byte* to, std::uint64_t expected, bool is_given_back) noexcept;
  void send_given_back() noexcept;
  void free(std::uint32_t index) noexcept;
  // Waits for a free entry, and sends the operation. expected: the bytes that the answer brings, to `to`.
  std::uint32_t begin(const operation_head& head, std::span<const std::byte> shape, std::span<const std::byte> data,
                      std::byte* to, std::uint64_t expected);
  // Waits for the answer, and returns its value. Frees the entry; throws the error that the answer brought.
  std::uint64_t finish(std::uint32_t index);
  std::uint64_t perform(const operation_head& head, std::span<const std::byte> data);
  template <class Done>
  void wait(Done done, std::uint32_t target);
  void pause(std::int64_t longest_ns);
  void ask_for_credit(std::uint32_t target, std::uint32_t channel) noexcept;
  void take_credit(wire_peer from, std::span<const std::byte> head, std::uint64_t data_bytes) noexcept;
  // Sends any message. pre: the lock is held.
  void send_bytes(std::uint32_t target, wire_message kind, std::span<const std::byte> head,
                  std::span<const std::byte> data) noexcept;

  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override;
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override;
  [[nodiscard]] outstanding* find(wire_peer from, std::uint64_t tag) noexcept;
  // Ends the operation of an entry.
  void end(outstanding& found) noexcept;
  // Ends it with an error.
  void fail(outstanding& found, errc code, std::string_view text) noexcept;
  void drop(wire_peer from, std::string_view why) noexcept;
  void ended(wire_peer from) noexcept override;
  void lose(std::uint16_t host, std::string_view reason) noexcept;
  // Loses the hosts that this host's server has found lost. pre: the lock is held, and the wire is not in progress.
  void look_for_lost_hosts() noexcept;

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  place_context& context_;
  host_wire& wire_;
  task_waiter task_waiter_ = nullptr;
  std::int64_t first_wait_ns_ = 0;
  bell bell_;
  // Outstanding work, by which is_outstanding() decides; read without the lock.
  std::atomic<std::uint32_t> under_way_{0};  // operations
  std::atomic<bool> wants_room_{false};
  std::atomic<bool> is_sending_{false};  // the wire has not yet sent everything
  std::vector<wire_peer> servers_;
  std::vector<std::string> lost_;  // for each host the reason of its loss; empty: it is not lost
  std::uint32_t seen_ends_ = 0;    // places that had ended when this place last looked for lost hosts
  std::mutex mutex_;               // protects all members below, and the wire
  std::array<outstanding, most_outstanding> table_;
  std::uint32_t first_free_ = 0;
  std::vector<std::uintptr_t> given_back_;        // blocks that wait for a free entry
  std::vector<std::array<sending, 2>> sendings_;  // to each place: requests, replies
  counts count_;
};

}  // namespace situ::detail::cluster
