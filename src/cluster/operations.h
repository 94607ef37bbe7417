// A host server's end of the operations of places of other hosts: checks them, performs them by the processor, and
// answers.
//
// Every operation is checked against the open part of this host's segments, each time. An operation that fails is
// answered with the error that a caller on this host would get. Bytes that are no operation are answered with
// bad_message, if the waiting place can be seen from them. No received bytes end the server. Belongs to the server's
// thread.
#pragma once

#include <situ/base/error_code.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/detail/place_context.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/protocol.h"
#include "cluster/wire.h"

namespace situ::detail::cluster {

// Is notified when all places of another host have arrived at a round of a barrier.
class barrier_listener {
 public:
  virtual ~barrier_listener() = default;
  virtual void arrived(std::uint16_t host, host_barrier which, std::uint64_t round) noexcept = 0;
};

class operations final {
 public:
  // server: the server's view of the address space, with access to its own host's slices; it runs no place of the job.
  // homes: of all places. All arguments outlive this.
  operations(place_context& server, std::span<const place_home> homes, std::uint16_t host, host_wire& out) noexcept
      : server_{server}, homes_{homes}, host_{host}, wire_{out} {}
  operations(const operations&) = delete;
  operations& operator=(const operations&) = delete;

  // From now on `peer` is a place of that host; messages of unknown peers are dropped.
  void add_peer(wire_peer peer, std::uint16_t host);

  // From now on also takes each end that is not known yet for a place of the host of the first source that it names:
  // for a wire that knows its ends only by what they send. Such an end cannot claim to be a place of this host, or
  // later of another host.
  void meet_peers() noexcept { meets_peers_ = true; }

  // Returns true if `source` is a place of the host that is behind that end.
  [[nodiscard]] bool is_known(wire_peer from, std::uint32_t source);

  // From now on refuses operations of places of that host. Returns their ends, which are not needed any more.
  [[nodiscard]] std::vector<wire_peer> lose_host(std::uint16_t host);

  // Without a listener, barriers are refused. The listener outlives this.
  void set_barriers(barrier_listener& listener) noexcept { barriers_ = &listener; }

  // As those of wire_receiver, for operations.
  std::byte* room_for(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes) noexcept;
  void received(wire_peer from, std::span<const std::byte> head, std::span<const std::byte> data) noexcept;

  struct counts {
    std::uint64_t done = 0;
    std::uint64_t denied = 0;   // refused with an error
    std::uint64_t dropped = 0;  // of an unknown sender
  };
  [[nodiscard]] const counts& count() const noexcept { return count_; }

 private:
  // Returns true if the bytes are an operation of a place that may ask; otherwise tells the waiting place, if it is
  // known.
  [[nodiscard]] bool is_operation(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes,
                                  parsed_operation& asked) noexcept;
  [[nodiscard]] bool is_lost(std::uint32_t source) const noexcept;
  template <class Act>
  bool try_to(wire_peer from, const operation_head& head, Act act) noexcept;
  void check(access how, std::uintptr_t address, std::uint64_t bytes) const;
  void check_reach(access how, const operation_head& head) const;
  // Performs the operation, and answers. Throws situ::error if it cannot be done.
  void perform(wire_peer from, const parsed_operation& asked, std::span<const std::byte> data);
  void put_and_signal(const operation_head& head, std::span<const std::byte> data);
  [[nodiscard]] std::span<const std::byte> move_box(const parsed_operation& asked, access how,
                                                    std::span<const std::byte> data);
  [[nodiscard]] std::uint64_t change_word(const operation_head& head);
  void give_back(std::uintptr_t block);
  void hear_of_barrier(const operation_head& head);
  [[nodiscard]] std::span<const std::byte> look_at_shown(const operation_head& head) const;
  void answer(wire_peer to, std::uint64_t tag, std::uint64_t value, std::span<const std::byte> data);
  void deny(wire_peer to, std::uint64_t tag, errc code, std::string_view text) noexcept;
  void drop(wire_peer from, std::string_view why) noexcept;

  static constexpr std::uint16_t no_host = ~std::uint16_t{0};
  place_context& server_;
  std::span<const place_home> homes_;
  std::uint16_t host_;
  host_wire& wire_;
  std::vector<std::uint16_t> host_of_peer_;
  std::vector<std::uint16_t> lost_;  // hosts
  std::vector<std::byte> box_;       // elements of a box that is being sent
  counts count_;
  barrier_listener* barriers_ = nullptr;
  bool meets_peers_ = false;
};

}  // namespace situ::detail::cluster
