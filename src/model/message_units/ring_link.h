// One direction of a link between two chips: from a bridge's FIFO to that of the neighbour's bridge.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/message_units/word_fifo.h"

namespace situ::model {

class ring_link {
 public:
  // cycles: from OUT to IN, both counted; the wire takes those between them.
  explicit ring_link(unsigned cycles = 3) : wires_(cycles - 1) {
    for (credits& each : credits_) each.on_the_way.resize(cycles - 1);
  }
  // The FIFOs at its ends, which outlive it.
  void connect(two_lanes& from, two_lanes& to) noexcept {
    from_ = &from;
    to_ = &to;
  }

  // Carries out a cycle: IN, the wire, OUT, from its end to its beginning. Returns whether anything changed, or is on its
  // way.
  bool step(cycle now) {
    bool changed = full_ != 0;
    stage& arriving = wires_[at_];
    if (arriving.is_full) {
      (*to_)[arriving.of].put(arriving.word, now);
      arriving.is_full = false;
      --full_;
    }
#pragma GCC unroll 2
    for (unsigned of = 0; of < lanes; ++of) changed |= credits_[of].step((*to_)[of].taken_before(now), at_);
    changed |= take(now);
    at_ = at_ + 1 == wires_.size() ? 0 : at_ + 1;
    return changed;
  }

  [[nodiscard]] bool is_empty() const noexcept { return full_ == 0; }
  [[nodiscard]] std::uint64_t words() const noexcept { return words_; }

 private:
  struct stage {
    fifo_word word;
    unsigned of = 0;
    bool is_full = false;
  };
  // Places in the neighbour's FIFO. One comes back as many cycles after a word was taken there as the link has.
  struct credits {
    std::uint32_t sent = 0;  // words, modulo 2^32, as the rest
    std::uint32_t returned = 0;
    std::vector<std::uint32_t> on_the_way;  // by the cycle in which it was seen
    bool step(std::uint32_t taken, std::size_t at) noexcept {
      const bool changes = returned != taken;
      returned = on_the_way[at];
      on_the_way[at] = taken;
      return changes;
    }
  };
  bool take(cycle now) {
#pragma GCC unroll 2
    for (const unsigned of : replies_first) {
      word_fifo& from = (*from_)[of];
      credits& left = credits_[of];
      if (!from.has_word(now) || left.sent - left.returned == (*to_)[of].depth()) continue;
      stage& leaving = wires_[at_];
      leaving.word = from.take(now);
      leaving.of = of;
      leaving.is_full = true;
      ++full_;
      ++left.sent;
      ++words_;
      return true;
    }
    return false;
  }

  two_lanes* from_ = nullptr;
  two_lanes* to_ = nullptr;
  std::vector<stage> wires_;  // by the cycle in which a word was taken
  std::size_t at_ = 0;        // of this cycle
  unsigned full_ = 0;
  std::array<credits, lanes> credits_;
  std::uint64_t words_ = 0;
};

}  // namespace situ::model
