// shares: whom the places of a distribution (distribution.h) belong to, where members are not equal: runs of places, as
// long as the members' weights say. A distribution over more places than there are members, and shares of these
// places, deal elements to members by weight, in one block or in turns.
//
//   situ::distribution<1> fine{{n}, 1024};               // 1024 blocks
//   situ::shares who{1024, std::array{1.0, 3.0}};        // 256 of them for member 0, 768 for member 1
//   std::uint32_t member = who.member_of(fine.owner({i}));
//
// A value. cost: a binary search over the members.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ {

// Places dealt to members; see above.
class shares {
 public:
  // Places 0, 1, .. to members 0, 1, .., each as near to its share of the weights as whole places allow (the largest
  // remainders are rounded up, of equal ones the first). Throws bad_argument without weights, for one that is below 0
  // or not finite, and where all are 0. cost: sorts the members.
  shares(std::uint32_t places, std::span<const double> weights);

  // How many members and places there are.
  [[nodiscard]] std::uint32_t members() const noexcept { return static_cast<std::uint32_t>(first_.size() - 1); }
  [[nodiscard]] std::uint32_t places() const noexcept { return first_.back(); }
  // Whom a place belongs to. pre: place < places().
  [[nodiscard]] std::uint32_t member_of(std::uint32_t place) const noexcept;
  // The first place of a member, and how many it has. pre: member < members().
  [[nodiscard]] std::uint32_t first(std::uint32_t member) const noexcept { return first_[member]; }
  [[nodiscard]] std::uint32_t count(std::uint32_t member) const noexcept { return first_[member + 1] - first_[member]; }

  friend bool operator==(const shares&, const shares&) = default;

 private:
  std::vector<std::uint32_t> first_;  // of each member, and one behind the last place
};

}  // namespace situ
