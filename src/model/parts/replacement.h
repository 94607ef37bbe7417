// The choice of the way that a full set of a cache gives up, other than the least recently used one, which
// set_associative_cache keeps by the order of its entries.
//
//   tree_plru   a tree of bits over the ways of a set: each bit points to the half that was not used last. An access
//               turns the bits on its way's path away from it; the victim is the leaf to which the bits lead. pre: the
//               ways are a power of two.
//   srrip       static re-reference interval prediction with two bits and hit priority (Jaleel, Theobald, Steely, Emer:
//               High performance cache replacement using re-reference interval prediction, ISCA 2010, section 4): a
//               line comes in with 2, and a hit makes it 0. The victim is the first way with 3; if no way has 3, all are
//               increased until one has.
//   random      a way of a generator (splitmix64) that begins with the stated seed.
//
// Worked example, tree_plru, 4 ways used in the order 0 1 2 3 0: the root points right (0 was used last), and the right
// node points to way 2 (3 was used last there): way 2 is the victim. The least recently used way is 1.
//
// Worked example, srrip, 4 ways, lines a1 a2 a2 a1 b1 b2 b3 b4 a1 a2 (figure 4 of the paper has these): a1 and a2 are hit
// and have 0; b1 and b2 have 2; b3 finds no 3, so that a1 and a2 become 1, b1 and b2 become 3, and takes b1's way; b4
// takes b2's. Both last accesses hit; of LRU, none does.
//
// Not thread-safe. cost: used() and victim() of tree_plru are logarithmic in the ways, victim() of srrip is linear.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/machine/tree.h>

#include "model/parts/warm_state.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::model {

// The policy by which a cache chooses its victims. The seed is that of `random`.
struct replacement_spec {
  machine::replacement policy = machine::replacement::lru;
  std::uint64_t seed = 0;
  [[nodiscard]] bool is_by_order_of_use() const noexcept { return policy <= machine::replacement::lru; }
};

class replacement_state {
 public:
  replacement_state() = default;
  // pre: as the policies above say.
  replacement_state(const replacement_spec& of, std::uint32_t sets, std::uint32_t ways)
      : policy_{of.policy},
        ways_{ways},
        random_{of.seed},
        of_way_(policy_ == machine::replacement::tree_plru || policy_ == machine::replacement::srrip
                    ? std::size_t{sets} * ways
                    : 0) {
    SITU_ASSERT(1, policy_ != machine::replacement::tree_plru || std::has_single_bit(ways),
                "a tree of bits needs a power of two of ways");
  }

  // Records a hit in a way. A second call for the same way, with none for other ways of the set in between, changes
  // nothing.
  void used(std::size_t set, std::uint32_t way) noexcept {
    if (policy_ == machine::replacement::tree_plru) turn_away(set, way);
    if (policy_ == machine::replacement::srrip) of_way_[set * ways_ + way] = 0;
  }
  // Records that a line came into a way. Returns whether a hit of this line, as the next access of the set, changes
  // nothing.
  bool filled(std::size_t set, std::uint32_t way) noexcept {
    if (policy_ == machine::replacement::tree_plru) turn_away(set, way);
    if (policy_ != machine::replacement::srrip) return true;
    of_way_[set * ways_ + way] = comes_in;
    return false;
  }
  // Returns the way that a full set gives up.
  [[nodiscard]] std::uint32_t victim(std::size_t set) noexcept {
    switch (policy_) {
      case machine::replacement::tree_plru: return leaf(set);
      case machine::replacement::srrip: return most_distant(set);
      case machine::replacement::random: return static_cast<std::uint32_t>((next_random() >> 32) * ways_ >> 32);
      case machine::replacement::unknown:
      case machine::replacement::lru: break;
    }
    return ways_ - 1;  // by the order of the set's entries
  }

  // Append the order to words, and take it from such words.
  void save(state_words& to) const {
    to.push_back(random_);
    to.insert(to.end(), of_way_.begin(), of_way_.end());
  }
  void load(state_reader& from) {
    random_ = from.next();
    const std::uint64_t highest = policy_ == machine::replacement::tree_plru ? 1 : most;
    for (std::uint8_t& each : of_way_) {
      const std::uint64_t word = from.next();
      if (word > highest) throw_error(errc::bad_file, "a cache's order of replacement cannot be");
      each = static_cast<std::uint8_t>(word);
    }
  }

 private:
  static constexpr std::uint8_t comes_in = 2;
  static constexpr std::uint8_t most = 3;

  // Node n of a set's tree has the children 2 n and 2 n + 1; the leaves, from ways_ on, are the ways. A node's bit is
  // the child to which it points.
  void turn_away(std::size_t set, std::uint32_t way) noexcept {
    std::uint8_t* const nodes = of_way_.data() + set * ways_;
    for (std::uint32_t n = ways_ + way; n > 1; n /= 2) nodes[n / 2] = n % 2 == 0 ? 1 : 0;
  }
  [[nodiscard]] std::uint32_t leaf(std::size_t set) const noexcept {
    const std::uint8_t* const nodes = of_way_.data() + set * ways_;
    std::uint32_t n = 1;
    while (n < ways_) n = 2 * n + nodes[n];
    return n - ways_;
  }
  [[nodiscard]] std::uint32_t most_distant(std::size_t set) noexcept {
    std::uint8_t* const of_set = of_way_.data() + set * ways_;
    for (;;) {
      for (std::uint32_t way = 0; way < ways_; ++way)
        if (of_set[way] == most) return way;
      for (std::uint32_t way = 0; way < ways_; ++way) ++of_set[way];
    }
  }
  [[nodiscard]] std::uint64_t next_random() noexcept {
    std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  machine::replacement policy_ = machine::replacement::lru;
  std::uint32_t ways_ = 0;
  std::uint64_t random_ = 0;
  std::vector<std::uint8_t> of_way_;  // tree_plru: bits of nodes; srrip: predictions
};

}  // namespace situ::model
