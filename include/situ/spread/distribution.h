// distribution<D>: which member of a team has which element of an index space of D dimensions, and where in its part.
//
//   situ::distribution<2> rows{{n, m}, 4, {situ::cut::block(), situ::cut::none()}};
//   std::uint32_t member = rows.owner({i, j});
//   situ::point<2> there = rows.local({i, j});                   // where, in that member's part
//   situ::point<2> back = rows.global(member, there);            // {i, j} again
//
// Each dimension is cut by itself into blocks, which go around the places along it in turn: block, cyclic and
// block-cyclic differ in the size of a block only. Dimension 0 is the outermost, as in C arrays. A value, without
// memory of its own; everything is constexpr. cost: a point to its owner or back takes two multiplications a dimension,
// no division.
#pragma once

#include <situ/spread/detail/cut_axis.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace situ {

// The index of an element in each dimension, outermost first. Signed: ghost elements lie below 0.
template <std::size_t D>
using point = std::array<std::ptrdiff_t, D>;

// The points from `low` on that lie before `high` in every dimension.
template <std::size_t D>
struct box {
  point<D> low{};   // the lowest point
  point<D> high{};  // one behind the highest point

  // Points in dimension d; 0 where high lies before low.
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept {
    return high[d] <= low[d] ? 0 : static_cast<std::size_t>(high[d] - low[d]);
  }
  // How many points it has.
  [[nodiscard]] constexpr std::size_t points() const noexcept {
    std::size_t n = 1;
    for (std::size_t d = 0; d < D; ++d) n *= extent(d);
    return n;
  }
  // Whether a point, or all points of another box, lie in it.
  [[nodiscard]] constexpr bool contains(const point<D>& p) const noexcept {
    for (std::size_t d = 0; d < D; ++d)
      if (p[d] < low[d] || p[d] >= high[d]) return false;
    return true;
  }
  [[nodiscard]] constexpr bool contains(const box& other) const noexcept {
    if (other.points() == 0) return true;
    for (std::size_t d = 0; d < D; ++d)
      if (other.low[d] < low[d] || other.high[d] > high[d]) return false;
    return true;
  }
  friend constexpr bool operator==(const box&, const box&) = default;
};

// How one dimension is cut.
struct cut {
  std::size_t block_size = 0;  // elements of a block; 0: such that each place has one block
  std::uint32_t places = 0;    // along the dimension; 0: what is left of the team, shared among such dimensions

  // One block for each place; the last ones may be shorter, or empty.
  [[nodiscard]] static constexpr cut block(std::uint32_t places = 0) noexcept { return {0, places}; }
  // One element for each place in turn.
  [[nodiscard]] static constexpr cut cyclic(std::uint32_t places = 0) noexcept { return {1, places}; }
  // A block of this size for each place in turn.
  [[nodiscard]] static constexpr cut blocks_of(std::size_t size, std::uint32_t places = 0) noexcept {
    return {size, places};
  }
  // Not cut.
  [[nodiscard]] static constexpr cut none() noexcept { return {0, 1}; }

  friend constexpr bool operator==(const cut&, const cut&) = default;
};

namespace detail {
[[noreturn]] void throw_too_many_places(std::uint64_t wanted, std::uint32_t members);
[[noreturn]] void throw_extent_too_large(std::size_t extent);
// What a segment cannot hold anyway; it keeps the products below in range.
inline constexpr std::size_t most_elements = std::size_t{1} << 47;
}  // namespace detail

// Where the elements of an index space are; see above.
template <std::size_t D>
class distribution {
  static_assert(D >= 1, "situ: a distribution has at least one dimension");

 public:
  // An index space without elements, at one member.
  constexpr distribution() noexcept = default;
  // Deals `extents` elements to `members`. Places along dimensions that say none are chosen such that blocks have short
  // edges; members that are left over have empty parts. Throws bad_argument where dimensions want more places than
  // there are, or the space is too large for any memory.
  constexpr distribution(const std::array<std::size_t, D>& extents, std::uint32_t members,
                         const std::array<cut, D>& how = {}) {
    const std::array<std::uint32_t, D> along = places_along(extents, members, how);
    std::size_t elements = 1;
    for (std::size_t d = 0; d < D; ++d) {
      if (extents[d] != 0 && elements > detail::most_elements / extents[d]) detail::throw_extent_too_large(extents[d]);
      if (extents[d] != 0) elements *= extents[d];
      axes_[d] = detail::cut_axis{extents[d], how[d].block_size, along[d]};
    }
    members_ = members;
  }

  // Elements in a dimension, and the points of all.
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept {
    return static_cast<std::size_t>(axes_[d].extent);
  }
  [[nodiscard]] constexpr box<D> points() const noexcept {
    box<D> all;
    for (std::size_t d = 0; d < D; ++d) all.high[d] = axes_[d].extent;
    return all;
  }
  // Members that elements are dealt to, and how many of them lie along a dimension.
  [[nodiscard]] constexpr std::uint32_t members() const noexcept { return members_; }
  [[nodiscard]] constexpr std::uint32_t places(std::size_t d) const noexcept {
    return static_cast<std::uint32_t>(axes_[d].places);
  }
  // Elements of a block in a dimension.
  [[nodiscard]] constexpr std::size_t block_size(std::size_t d) const noexcept {
    return static_cast<std::size_t>(axes_[d].block);
  }
  // Whether nobody has more than one block in a dimension; in all of them: then each part is a box.
  [[nodiscard]] constexpr bool has_single_blocks(std::size_t d) const noexcept { return axes_[d].has_single_blocks(); }
  [[nodiscard]] constexpr bool has_single_blocks() const noexcept {
    for (std::size_t d = 0; d < D; ++d)
      if (!has_single_blocks(d)) return false;
    return true;
  }

  // The member that has an element. pre: points().contains(p).
  [[nodiscard]] constexpr std::uint32_t owner(const point<D>& p) const noexcept {
    std::uint32_t member = 0;
    for (std::size_t d = 0; d < D; ++d) member = member * places(d) + axes_[d].locate(p[d]).place;
    return member;
  }
  // Where in its owner's part an element is. pre: as owner.
  [[nodiscard]] constexpr point<D> local(const point<D>& p) const noexcept {
    point<D> at;
    for (std::size_t d = 0; d < D; ++d) at[d] = axes_[d].locate(p[d]).local;
    return at;
  }
  // The element at a point of a member's part. pre: the part has it.
  [[nodiscard]] constexpr point<D> global(std::uint32_t member, const point<D>& local) const noexcept {
    const std::array<std::uint32_t, D> along = coordinates(member);
    point<D> p;
    for (std::size_t d = 0; d < D; ++d) p[d] = axes_[d].global(along[d], local[d]);
    return p;
  }

  // Whether a member has a part; those that are left over have none. cost: a multiplication a dimension.
  [[nodiscard]] constexpr bool has_part(std::uint32_t member) const noexcept {
    std::uint32_t used = 1;
    for (std::size_t d = 0; d < D; ++d) used *= places(d);
    return member < used;
  }
  // Elements of a member's part in each dimension. cost: some divisions.
  [[nodiscard]] constexpr std::array<std::size_t, D> local_extents(std::uint32_t member) const noexcept {
    std::array<std::size_t, D> counts{};
    if (!has_part(member)) return counts;
    const std::array<std::uint32_t, D> along = coordinates(member);
    for (std::size_t d = 0; d < D; ++d) counts[d] = static_cast<std::size_t>(axes_[d].count(along[d]));
    return counts;
  }
  // Where a member lies among the places along each dimension; the last dimension varies fastest. cost: a division a
  // dimension.
  [[nodiscard]] constexpr std::array<std::uint32_t, D> coordinates(std::uint32_t member) const noexcept {
    std::array<std::uint32_t, D> along{};
    for (std::size_t d = D; d-- > 0; member /= places(d)) along[d] = member % places(d);
    return along;
  }

  // For Situ itself: one dimension.
  [[nodiscard]] constexpr const detail::cut_axis& axis(std::size_t d) const noexcept { return axes_[d]; }

 private:
  // Prime factors of the members that are left, the largest first, go each to where blocks are longest then.
  static constexpr std::array<std::uint32_t, D> places_along(const std::array<std::size_t, D>& extents,
                                                             std::uint32_t members, const std::array<cut, D>& how) {
    std::array<std::uint32_t, D> along{};
    std::uint64_t wanted = 1;
    bool is_open = false;
    for (std::size_t d = 0; d < D; ++d) {
      along[d] = how[d].places == 0 ? 1 : how[d].places;
      is_open |= how[d].places == 0;
      if (wanted <= members) wanted *= along[d];
    }
    if (wanted > members) detail::throw_too_many_places(wanted, members);
    if (!is_open) return along;
    std::uint32_t left = members / static_cast<std::uint32_t>(wanted);
    while (left > 1) {
      std::uint32_t largest = 1;
      for (std::uint32_t rest = left, f = 2; rest > 1; ++f)
        for (; rest % f == 0; rest /= f) largest = f;
      std::size_t longest = D;
      for (std::size_t d = 0; d < D; ++d)
        if (how[d].places == 0 && (longest == D || extents[d] / along[d] > extents[longest] / along[longest]))
          longest = d;
      along[longest] *= largest;
      left /= largest;
    }
    return along;
  }

  std::array<detail::cut_axis, D> axes_{};
  std::uint32_t members_ = 1;
};

}  // namespace situ
