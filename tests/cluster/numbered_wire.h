// An end of a test_network for who connects by addresses: its number.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/wire.h"

namespace situ::test {

using namespace situ::detail::cluster;

class numbered_wire final : public network_wire {
 public:
  explicit numbered_wire(host_wire& end) : end_{end} {}
  [[nodiscard]] std::vector<std::byte> address() const override { return {}; }
  wire_peer connect(std::span<const std::byte> address) override { return static_cast<wire_peer>(address[0]); }
  [[nodiscard]] bool is_idle() const noexcept override { return true; }
  void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
            std::span<const std::byte> data) noexcept override {
    end_.send(to, kind, head, data);
  }
  void give_up(wire_peer peer) noexcept override { end_.give_up(peer); }
  bool progress(wire_receiver& receiver) override {
    const bool worked = end_.progress(receiver);
    const std::lock_guard lock{mutex_};
    if (lost_) receiver.ended(*std::exchange(lost_, {}));
    return worked;
  }
  bool arm() noexcept override { return end_.arm(); }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  // The link to that end ends.
  void lose(wire_peer peer) {
    const std::lock_guard lock{mutex_};
    lost_ = peer;
  }

 private:
  host_wire& end_;
  std::mutex mutex_;
  std::optional<wire_peer> lost_;
};

}  // namespace situ::test
