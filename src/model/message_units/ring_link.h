// One direction of a link between two chips: from a bridge's FIFO to that of the neighbour's bridge.
#pragma once

#include <array>
#include <cstdint>

#include "model/message_units/word_fifo.h"

namespace situ::model {

class ring_link {
 public:
  // The FIFOs at its ends, which outlive it.
  void connect(two_lanes& from, two_lanes& to) noexcept {
    from_ = &from;
    to_ = &to;
  }

  // Carries out a cycle: IN, WIRE, OUT, from its end to its beginning. Returns whether anything changed, or is under way.
  bool step(cycle now) {
    bool changed = wire_.is_full || output_.is_full;
    if (wire_.is_full) (*to_)[wire_.of].put(wire_.word, now);
    wire_ = output_;
    output_.is_full = false;
    for (unsigned of = 0; of < lanes; ++of) changed |= credits_[of].step((*to_)[of].taken_before(now));
    for (const unsigned of : replies_first) {
      word_fifo& from = (*from_)[of];
      if (!from.has_word(now) || credits_[of].left() == 0) continue;
      output_ = {from.take(now), of, true};
      ++credits_[of].sent;
      ++words_;
      return true;
    }
    return changed;
  }

  [[nodiscard]] bool is_empty() const noexcept { return !output_.is_full && !wire_.is_full; }
  [[nodiscard]] std::uint64_t words() const noexcept { return words_; }
  [[nodiscard]] bool has_credit(unsigned of) const noexcept { return credits_[of].left() != 0; }

 private:
  struct stage {
    fifo_word word;
    unsigned of = 0;
    bool is_full = false;
  };
  // Places in the neighbour's FIFO. One comes back three cycles after a word was taken there.
  struct credits {
    std::uint64_t sent = 0;
    std::uint64_t returned = 0;
    std::array<std::uint64_t, 2> on_the_way{};
    [[nodiscard]] std::uint64_t left() const noexcept { return word_fifo::depth - (sent - returned); }
    bool step(std::uint64_t taken) noexcept {
      const bool changes = returned != on_the_way[0] || on_the_way[0] != on_the_way[1] || on_the_way[1] != taken;
      returned = on_the_way[0];
      on_the_way = {on_the_way[1], taken};
      return changes;
    }
  };

  two_lanes* from_ = nullptr;
  two_lanes* to_ = nullptr;
  stage output_, wire_;
  std::array<credits, lanes> credits_;
  std::uint64_t words_ = 0;
};

}  // namespace situ::model
