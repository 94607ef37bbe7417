// shares: assigns the places of a distribution (distribution.h) to members of unequal weight. Each member gets a run of
// consecutive places whose length is proportional to its weight. To deal elements by weight, in one block or in turns,
// make a distribution over more places than there are members, and shares of these places.
//
//   situ::distribution<1> fine{{n}, 1024};               // 1024 blocks
//   situ::shares who{1024, std::array{1.0, 3.0}};        // 256 of them for member 0, 768 for member 1
//   std::uint32_t member = who.member_of(fine.owner({i}));
//
// A value. cost: member_of is a binary search over the members.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ {

// An assignment of places to members; see above.
class shares {
 public:
  // Assigns places 0, 1, ... to members 0, 1, ... in order. Each member gets its share of the weights, rounded to whole
  // places (largest remainders are rounded up; of equal remainders, the lower member's first). Throws bad_argument if
  // `weights` is empty, if a weight is negative or not finite, or if all are 0. cost: sorts the members.
  shares(std::uint32_t places, std::span<const double> weights);

  // Numbers of members and places.
  [[nodiscard]] std::uint32_t members() const noexcept { return static_cast<std::uint32_t>(first_.size() - 1); }
  [[nodiscard]] std::uint32_t places() const noexcept { return first_.back(); }
  // Returns the member that owns a place. pre: place < places().
  [[nodiscard]] std::uint32_t member_of(std::uint32_t place) const noexcept;
  // Returns a member's first place and its number of places. pre: member < members().
  [[nodiscard]] std::uint32_t first(std::uint32_t member) const noexcept { return first_[member]; }
  [[nodiscard]] std::uint32_t count(std::uint32_t member) const noexcept { return first_[member + 1] - first_[member]; }

  friend bool operator==(const shares&, const shares&) = default;

 private:
  std::vector<std::uint32_t> first_;  // first place of each member, then the number of places
};

}  // namespace situ
