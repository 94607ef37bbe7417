// A NetIf: it joins a node or a bridge to all others of its chip, and passes words on before the packet is whole.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/message_units/word_fifo.h"

namespace situ::model {

class net_interface {
 public:
  // own: its number on the chip. ports: how many NetIfs the chip has. route: the NetIf of each node of the network.
  // depth: words of a lane of its channels
  net_interface(unsigned own, unsigned ports, std::vector<std::uint8_t> route, unsigned depth);

  // The FIFOs of its node or bridge; they outlive it.
  void connect(two_lanes& from, two_lanes& to) noexcept {
    from_ = &from;
    to_ = &to;
  }
  // The NetIfs of its chip, itself among them, in order.
  void connect(net_interface* chip) noexcept { chip_ = chip; }
  [[nodiscard]] two_lanes& channel(unsigned from) noexcept { return channels_[from]; }

  // Carries out a cycle. Returns whether anything changed.
  bool step(cycle now);
  // Returns the node of a packet that no NetIf leads to, or nothing. Such a packet stays in `out`.
  [[nodiscard]] std::optional<node_number> lost() const noexcept { return lost_; }
  // Returns whether it holds no word.
  [[nodiscard]] bool is_empty() const noexcept;
  // Calls `tell` for each packet that waits within it: the lane, the channel or the NetIf that it waits for.
  void tell_waiting(cycle now, const std::function<void(unsigned of, unsigned to, bool is_sending)>& tell) const;

 private:
  struct sending {
    fifo_word word;
    net_interface* there = nullptr;  // the NetIf that the packet goes to
    word_fifo* channel = nullptr;    // and the channel
    bool in_packet = false;
  };
  static constexpr unsigned nobody = ~0U;
  struct receiving {
    fifo_word word;
    unsigned locked = nobody;  // the channel whose packet comes
    unsigned turn = 0;
    bool releases = false;
  };

  bool pass(cycle now);
  bool route(unsigned of, cycle now);
  bool deliver(cycle now);
  bool choose(unsigned of, cycle now);
  // Returns the first of these channels that has a word, or nobody.
  [[nodiscard]] unsigned first_waiting(unsigned of, std::uint32_t channels, cycle now) const noexcept;

  unsigned own_;
  std::vector<std::uint8_t> route_;
  std::vector<two_lanes> channels_;             // from each NetIf of the chip
  std::array<std::uint32_t, lanes> holding_{};  // bit of each channel that may hold words
  std::array<sending, lanes> sending_;
  std::array<receiving, lanes> receiving_;
  unsigned passing_ = 0;     // a bit of each lane whose word waits to pass
  unsigned delivering_ = 0;  // to be delivered
  std::optional<node_number> lost_;
  two_lanes* from_ = nullptr;
  two_lanes* to_ = nullptr;
  net_interface* chip_ = nullptr;
};

}  // namespace situ::model
