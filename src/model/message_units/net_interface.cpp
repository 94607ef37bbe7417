#include "model/message_units/net_interface.h"

#include <bit>
#include <utility>

namespace situ::model {

net_interface::net_interface(unsigned own, unsigned ports, std::vector<std::uint8_t> route, unsigned depth)
    : own_{own}, route_{std::move(route)}, channels_(ports, lanes_of(depth)) {}

inline bool net_interface::pass(cycle now) {
#pragma GCC unroll 2
  for (const unsigned of : replies_first) {
    if ((passing_ >> of & 1U) == 0) continue;
    sending& packet = sending_[of];
    if (!packet.channel->has_room(now)) continue;
    packet.channel->put(packet.word, now);
    packet.there->holding_[of] |= 1U << own_;
    passing_ &= ~(1U << of);
    return true;
  }
  return false;
}

// pre: there is a word, and room for it
inline bool net_interface::route(unsigned of, cycle now) {
  sending& packet = sending_[of];
  word_fifo& from = (*from_)[of];
  if (!packet.in_packet) {
    const node_number to = destination(from.front().word);
    if (to >= route_.size()) {
      lost_ = to;
      return false;
    }
    packet.there = chip_ + route_[to];
    packet.channel = &packet.there->channels_[own_][of];
  }
  packet.word = from.take(now);
  packet.in_packet = !packet.word.is_last;
  passing_ |= 1U << of;
  return true;
}

inline bool net_interface::deliver(cycle now) {
#pragma GCC unroll 2
  for (const unsigned of : replies_first) {
    word_fifo& to = (*to_)[of];
    if ((delivering_ >> of & 1U) == 0 || !to.has_room(now)) continue;
    to.put(receiving_[of].word, now);
    delivering_ &= ~(1U << of);
    return true;
  }
  return false;
}

inline unsigned net_interface::first_waiting(unsigned of, std::uint32_t channels, cycle now) const noexcept {
  for (; channels != 0; channels &= channels - 1) {
    const auto channel = static_cast<unsigned>(std::countr_zero(channels));
    if (channels_[channel][of].has_word(now)) return channel;
  }
  return nobody;
}

// MUX and RELEASE.
inline bool net_interface::choose(unsigned of, cycle now) {
  receiving& packet = receiving_[of];
  if (packet.releases) {
    packet.releases = false;
    packet.locked = nobody;
    return true;
  }
  if (packet.locked == nobody) {
    const std::uint32_t before_turn = (1U << packet.turn) - 1;
    packet.locked = first_waiting(of, holding_[of] & ~before_turn, now);
    if (packet.locked == nobody) packet.locked = first_waiting(of, holding_[of] & before_turn, now);
    if (packet.locked == nobody) return false;
    packet.turn = packet.locked + 1 == channels_.size() ? 0 : packet.locked + 1;
  }
  word_fifo& channel = channels_[packet.locked][of];
  if (!channel.has_word(now)) return false;
  packet.word = channel.take(now);
  delivering_ |= 1U << of;
  if (channel.is_empty()) holding_[of] &= ~(1U << packet.locked);
  packet.releases = packet.word.is_last;
  return true;
}

// From its ends to their beginnings, so that each stage sees what the one before had at the cycle's start.
bool net_interface::step(cycle now) {
  bool changed = passing_ != 0 && pass(now);
  if (delivering_ != 0) changed |= deliver(now);
#pragma GCC unroll 2
  for (unsigned of = 0; of < lanes; ++of) {
    if ((passing_ >> of & 1U) == 0 && (*from_)[of].has_word(now)) changed |= route(of, now);
    if (receiving_[of].releases || (holding_[of] != 0 && (delivering_ >> of & 1U) == 0)) changed |= choose(of, now);
  }
  return changed;
}

bool net_interface::is_empty() const noexcept {
  return holding_[0] == 0 && holding_[1] == 0 && passing_ == 0 && delivering_ == 0;
}

void net_interface::tell_waiting(cycle now, const std::function<void(unsigned, unsigned, bool)>& tell) const {
#pragma GCC unroll 2
  for (unsigned of = 0; of < lanes; ++of) {
    if ((passing_ >> of & 1U) != 0) tell(of, sending_[of].there->own_, true);
    for (unsigned channel = 0; channel < channels_.size(); ++channel)
      if (channels_[channel][of].has_word(now)) tell(of, channel, false);
  }
}

}  // namespace situ::model
