// distribution<D>: maps each element of a D-dimensional index space to its owner, a member of a team, and to its
// position in the owner's part.
//
//   situ::distribution<2> rows{{n, m}, 4, {situ::cut::block(), situ::cut::none()}};
//   std::uint32_t member = rows.owner({i, j});
//   situ::point<2> there = rows.local({i, j});                   // where, in that member's part
//   situ::point<2> back = rows.global(member, there);            // {i, j} again
//
// Each dimension is cut independently into blocks, which are dealt round-robin to the places along that dimension:
// block, cyclic and block-cyclic differ only in the block size. Dimension 0 is the outermost, as in C arrays. A
// distribution is a value that allocates no memory; everything is constexpr. cost: mapping a point to its owner or back
// takes two multiplications a dimension, no division.
#pragma once

#include <situ/spread/detail/cut_axis.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace situ {

// The index of an element in each dimension, outermost first. Signed, because ghost elements have indices below 0.
template <std::size_t D>
using point = std::array<std::ptrdiff_t, D>;

// The points p with low <= p < high in every dimension.
template <std::size_t D>
struct box {
  point<D> low{};   // the first point
  point<D> high{};  // one past the last point, in each dimension

  // Number of points in dimension d; 0 if high is below low.
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept {
    return high[d] <= low[d] ? 0 : static_cast<std::size_t>(high[d] - low[d]);
  }
  // Total number of points.
  [[nodiscard]] constexpr std::size_t points() const noexcept {
    std::size_t n = 1;
    for (std::size_t d = 0; d < D; ++d) n *= extent(d);
    return n;
  }
  // Returns true if the box contains the point, or all points of the other box.
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

// How one dimension is cut into blocks.
struct cut {
  std::size_t block_size = 0;  // elements per block; 0: one block for each place
  std::uint32_t places = 0;    // places along the dimension; 0: the remaining members, shared among such dimensions

  // One block for each place; the last blocks may be shorter or empty.
  [[nodiscard]] static constexpr cut block(std::uint32_t places = 0) noexcept { return {0, places}; }
  // Deals one element at a time to the places, round-robin.
  [[nodiscard]] static constexpr cut cyclic(std::uint32_t places = 0) noexcept { return {1, places}; }
  // Deals blocks of `size` elements to the places, round-robin.
  [[nodiscard]] static constexpr cut blocks_of(std::size_t size, std::uint32_t places = 0) noexcept {
    return {size, places};
  }
  // Leaves the dimension whole.
  [[nodiscard]] static constexpr cut none() noexcept { return {0, 1}; }

  friend constexpr bool operator==(const cut&, const cut&) = default;
};

namespace detail {
[[noreturn]] void throw_too_many_places(std::uint64_t wanted, std::uint32_t members);
[[noreturn]] void throw_extent_too_large(std::size_t extent);
// An upper bound that no segment can hold; it keeps the products below in range.
inline constexpr std::size_t most_elements = std::size_t{1} << 47;
}  // namespace detail

// Maps the elements of an index space to members; see above.
template <std::size_t D>
class distribution {
  static_assert(D >= 1, "situ: a distribution has at least one dimension");

 public:
  // An empty index space with one member.
  constexpr distribution() noexcept = default;
  // Deals `extents` elements to `members`. Dimensions with places = 0 get factors of the remaining members, chosen so
  // that blocks have short edges; members left over have empty parts. Throws bad_argument if the dimensions ask for
  // more places than there are members, or if the space is too large for any memory.
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

  // Number of elements in a dimension, and the box of all points.
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept {
    return static_cast<std::size_t>(axes_[d].extent);
  }
  [[nodiscard]] constexpr box<D> points() const noexcept {
    box<D> all;
    for (std::size_t d = 0; d < D; ++d) all.high[d] = axes_[d].extent;
    return all;
  }
  // Number of members that elements are dealt to, and number of places along a dimension.
  [[nodiscard]] constexpr std::uint32_t members() const noexcept { return members_; }
  [[nodiscard]] constexpr std::uint32_t places(std::size_t d) const noexcept {
    return static_cast<std::uint32_t>(axes_[d].places);
  }
  // Elements per block in a dimension.
  [[nodiscard]] constexpr std::size_t block_size(std::size_t d) const noexcept {
    return static_cast<std::size_t>(axes_[d].block);
  }
  // Returns true if no place has more than one block in a dimension, or in any dimension; in the latter case each part
  // is a box.
  [[nodiscard]] constexpr bool has_single_blocks(std::size_t d) const noexcept { return axes_[d].has_single_blocks(); }
  [[nodiscard]] constexpr bool has_single_blocks() const noexcept {
    for (std::size_t d = 0; d < D; ++d)
      if (!has_single_blocks(d)) return false;
    return true;
  }

  // Returns the member that owns an element. pre: points().contains(p).
  [[nodiscard]] constexpr std::uint32_t owner(const point<D>& p) const noexcept {
    std::uint32_t member = 0;
    for (std::size_t d = 0; d < D; ++d) member = member * places(d) + axes_[d].locate(p[d]).place;
    return member;
  }
  // Returns an element's position in its owner's part. pre: as owner.
  [[nodiscard]] constexpr point<D> local(const point<D>& p) const noexcept {
    point<D> at;
    for (std::size_t d = 0; d < D; ++d) at[d] = axes_[d].locate(p[d]).local;
    return at;
  }
  // Returns the element at a position of a member's part. pre: `local` lies within that part.
  [[nodiscard]] constexpr point<D> global(std::uint32_t member, const point<D>& local) const noexcept {
    const std::array<std::uint32_t, D> along = coordinates(member);
    point<D> p;
    for (std::size_t d = 0; d < D; ++d) p[d] = axes_[d].global(along[d], local[d]);
    return p;
  }

  // Returns false for the members left over, which have no part. cost: a multiplication a dimension.
  [[nodiscard]] constexpr bool has_part(std::uint32_t member) const noexcept {
    std::uint32_t used = 1;
    for (std::size_t d = 0; d < D; ++d) used *= places(d);
    return member < used;
  }
  // Extents of a member's part. cost: some divisions.
  [[nodiscard]] constexpr std::array<std::size_t, D> local_extents(std::uint32_t member) const noexcept {
    std::array<std::size_t, D> counts{};
    if (!has_part(member)) return counts;
    const std::array<std::uint32_t, D> along = coordinates(member);
    for (std::size_t d = 0; d < D; ++d) counts[d] = static_cast<std::size_t>(axes_[d].count(along[d]));
    return counts;
  }
  // Returns a member's coordinates in the grid of places; the last dimension varies fastest. cost: a division a
  // dimension.
  [[nodiscard]] constexpr std::array<std::uint32_t, D> coordinates(std::uint32_t member) const noexcept {
    std::array<std::uint32_t, D> along{};
    for (std::size_t d = D; d-- > 0; member /= places(d)) along[d] = member % places(d);
    return along;
  }

  // For Situ itself: the cut of one dimension.
  [[nodiscard]] constexpr const detail::cut_axis& axis(std::size_t d) const noexcept { return axes_[d]; }

 private:
  // Assigns the prime factors of the remaining members, largest first, each to the dimension with the longest blocks so
  // far.
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
