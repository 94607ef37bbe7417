// The wire between hosts by UCX: active messages, never its put, get or atomics (docs/design/cluster.md, point 4).
//
// One worker for each process that communicates with other hosts. Each such end has a name, which is part of its
// address and of every message that it sends: so it has one number here, whichever end connected to the other, or if
// both did at once. An end that connects sends its own address before all else; messages of it that arrive before the
// address wait. Over TCP nothing of this is protected: anyone who reaches the port may send anything, which is why the
// bytes are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cluster/wire.h"

namespace situ::detail::cluster {

class ucx_wire final : public network_wire {
 public:
  // Throws bad_launch if UCX cannot be used.
  ucx_wire();
  ~ucx_wire() override;

  [[nodiscard]] std::vector<std::byte> address() const override;
  wire_peer connect(std::span<const std::byte> address) override;
  [[nodiscard]] bool is_idle() const noexcept override;
  void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
            std::span<const std::byte> data) noexcept override;
  void give_up(wire_peer peer) noexcept override;
  bool progress(wire_receiver& receiver) override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override;

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

}  // namespace situ::detail::cluster
