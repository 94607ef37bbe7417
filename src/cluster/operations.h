// A host server's end of what places of other hosts ask: checks it, does it by the processor, and answers.
//
// Every operation is checked against the open part of this host's segments, each time. What cannot be done is answered
// with the error that the caller would get here; what is no operation is answered with bad_message, where it can be
// seen who waits. Nothing that comes in ends the server. Belongs to the server's thread.
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

// Who is told that all places of another host have come to a round of a barrier.
class barrier_listener {
 public:
  virtual ~barrier_listener() = default;
  virtual void arrived(std::uint16_t host, host_barrier which, std::uint64_t round) noexcept = 0;
};

class operations final {
 public:
  // server: what the server knows of the address space, with access to its own host's slices; no place of the job runs
  // by it. homes: of all places. All outlive this.
  operations(place_context& server, std::span<const place_home> homes, std::uint16_t host, host_wire& out) noexcept
      : server_{server}, homes_{homes}, host_{host}, wire_{out} {}
  operations(const operations&) = delete;
  operations& operator=(const operations&) = delete;

  // From now on `peer` is a place of that host; what comes from others is dropped.
  void add_peer(wire_peer peer, std::uint16_t host);

  // The same of each place that asks first, from an end that is not known yet: a wire whose ends are known by what
  // comes from there alone. It cannot say that it is a place of this host, or later that it is of yet another one.
  void meet_peers() noexcept { meets_peers_ = true; }

  // Whether `source` is a place of the host that is behind that end.
  [[nodiscard]] bool is_known(wire_peer from, std::uint32_t source);

  // What places of that host ask is refused from now on. Returns their ends, of which nothing is needed any more.
  [[nodiscard]] std::vector<wire_peer> lose_host(std::uint16_t host);

  // Without one, barriers are refused. It outlives this.
  void set_barriers(barrier_listener& listener) noexcept { barriers_ = &listener; }

  // As wire_receiver has them, of operations.
  std::byte* room_for(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes) noexcept;
  void received(wire_peer from, std::span<const std::byte> head, std::span<const std::byte> data) noexcept;

  struct counts {
    std::uint64_t done = 0;
    std::uint64_t denied = 0;   // and answered so
    std::uint64_t dropped = 0;  // nobody knows whose
  };
  [[nodiscard]] const counts& count() const noexcept { return count_; }

 private:
  // Whether it is one, of a place that may ask; else whoever waits is told.
  [[nodiscard]] bool is_operation(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes,
                                  parsed_operation& asked) noexcept;
  [[nodiscard]] bool is_lost(std::uint32_t source) const noexcept;
  template <class Act>
  bool try_to(wire_peer from, const operation_head& head, Act act) noexcept;
  void check(access how, std::uintptr_t address, std::uint64_t bytes) const;
  void check_reach(access how, const operation_head& head) const;
  // Does it, and answers. Throws situ::error where it cannot be done.
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
  std::vector<std::byte> box_;       // elements of a box on their way out
  counts count_;
  barrier_listener* barriers_ = nullptr;
  bool meets_peers_ = false;
};

}  // namespace situ::detail::cluster
