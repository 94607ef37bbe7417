// The plan of an exchange of ghost elements: each member of a distribution fetches elements of other members' parts into
// the ghost zones of its own. distributed_array::exchange_ghosts() follows this plan; other carriers of memory may, too.
//
//   situ::distribution<2> rows{{n, m}, 16, {situ::cut::block(), situ::cut::none()}};
//   const situ::ghost_plan<2> plan{rows, situ::ghost_zones<2>::all(1)};
//   plan.for_each_run(member, [&](std::uint32_t source, std::size_t from, std::size_t to, std::size_t elements) { ... });
//
// All parts have the layout of the largest one: a box of own elements with the ghost zones around it, row after row, so
// that offsets are the same at all members. A plan is a value. cost: making one and its sizes: constant; moves(): linear
// in the neighbours; for_each_run(): linear in the runs. No memory of the array is touched.
#pragma once

#include <situ/memory/allocate.h>
#include <situ/spread/detail/array_part.h>
#include <situ/spread/detail/part_points.h>
#include <situ/spread/distribution.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace situ {

// Widths of the ghost zones of an array, in elements.
template <std::size_t D>
struct ghost_zones {
  std::array<std::size_t, D> low{};   // below a part, in each dimension
  std::array<std::size_t, D> high{};  // above it
  std::array<bool, D> periodic{};     // true: the ends of the dimension are neighbours

  // Returns zones of one width on all sides.
  [[nodiscard]] static constexpr ghost_zones all(std::size_t width, bool is_periodic = false) noexcept {
    ghost_zones made;
    made.low.fill(width);
    made.high.fill(width);
    made.periodic.fill(is_periodic);
    return made;
  }
};

// The plan of a distribution with ghost zones of these widths.
template <std::size_t D>
class ghost_plan {
 public:
  // A box of elements that a member fetches. Offsets are in elements, from the first own element of a part.
  struct move {
    std::uint32_t source = 0;  // the member that owns them
    std::ptrdiff_t from = 0;   // in its part
    std::ptrdiff_t to = 0;     // in the fetching member's part
    std::array<std::size_t, D> extents{};
  };

  // Throws bad_argument if a dimension with ghost zones has several blocks per place, or for zones that are too wide.
  ghost_plan(const situ::distribution<D>& distribution, const ghost_zones<D>& ghosts)
      : distribution_{distribution}, ghosts_{ghosts} {
    for (std::size_t d = D; d-- > 0;) {
      const std::size_t low = ghosts_.low[d], high = ghosts_.high[d];
      if (low > detail::most_elements || high > detail::most_elements) detail::throw_wide_ghosts(std::max(low, high));
      if ((low != 0 || high != 0) && !distribution_.has_single_blocks(d))
        detail::throw_not_single_blocks(d, "ghost zones lie around single blocks only");
      if (d + 1 < D) strides_[d] = static_cast<std::ptrdiff_t>(elements_);
      first_offset_ += static_cast<std::ptrdiff_t>(low * elements_);
      allocated_[d] = low + static_cast<std::size_t>(distribution_.axis(d).count(0)) + high;
      elements_ = detail::bytes_for(elements_, std::max<std::size_t>(1, allocated_[d]));
    }
  }

  // Returns the widths that it was made with.
  [[nodiscard]] const ghost_zones<D>& ghosts() const noexcept { return ghosts_; }
  // Returns the elements of a part with its ghost zones, and its extents.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  [[nodiscard]] const std::array<std::size_t, D>& allocated() const noexcept { return allocated_; }
  // Returns the distance of neighbours in a dimension; the offset of a part's first own element.
  [[nodiscard]] std::ptrdiff_t stride(std::size_t d) const noexcept { return d + 1 == D ? 1 : strides_[d]; }
  [[nodiscard]] const std::array<std::ptrdiff_t, D - 1>& outer_strides() const noexcept { return strides_; }
  [[nodiscard]] std::ptrdiff_t first_offset() const noexcept { return first_offset_; }

  // Returns what a member fetches. No element is fetched twice: a side of dimension d spans the ghost zones of the
  // dimensions before d and only the own elements of the dimensions after d.
  [[nodiscard]] std::vector<move> moves(std::uint32_t member) const {
    std::vector<move> all;
    const detail::part_walk<D> walk{distribution_, member};
    if (walk.is_empty()) return all;
    const auto along = distribution_.coordinates(member);
    const auto reaches = [&](std::size_t d, std::ptrdiff_t from, std::ptrdiff_t to) {
      return detail::find_reaches(distribution_.axis(d), along[d], from, to, ghosts_.periodic[d]);
    };
    reaches_of_dimensions in;
    for (std::size_t d = 0; d < D; ++d) in[d] = {{along[d], 0, 0, walk.count[d]}};
    for (std::size_t d = 0; d < D; ++d) {
      const std::ptrdiff_t own = walk.count[d];
      const auto low = reaches(d, -static_cast<std::ptrdiff_t>(ghosts_.low[d]), 0);
      const auto high = reaches(d, own, own + static_cast<std::ptrdiff_t>(ghosts_.high[d]));
      std::vector<detail::ghost_reach> whole = std::exchange(in[d], low);
      add_moves(all, in);
      in[d] = high;
      add_moves(all, in);
      whole.insert(whole.end(), low.begin(), low.end());
      whole.insert(whole.end(), high.begin(), high.end());
      in[d] = std::move(whole);
    }
    return all;
  }

  // Calls f(source, from, to, elements) for each run of elements that lie one after the other at both ends; offsets from
  // the beginning of a part.
  template <class F>
  void for_each_run(std::uint32_t member, F f) const {
    for (const move& each : moves(member)) add_runs<0>(each, each.from + first_offset_, each.to + first_offset_, f);
  }

 private:
  using reaches_of_dimensions = std::array<std::vector<detail::ghost_reach>, D>;
  void add_moves(std::vector<move>& all, const reaches_of_dimensions& in, std::size_t d = 0, move made = {}) const {
    if (d == D) {
      all.push_back(made);
      return;
    }
    for (const detail::ghost_reach& each : in[d]) {
      move next = made;
      next.extents[d] = static_cast<std::size_t>(each.length);
      next.source = made.source * distribution_.places(d) + each.place;
      next.from = made.from + each.source * stride(d);
      next.to = made.to + each.target * stride(d);
      add_moves(all, in, d + 1, next);
    }
  }
  template <std::size_t Dimension, class F>
  void add_runs(const move& of, std::ptrdiff_t from, std::ptrdiff_t to, F& f) const {
    if constexpr (Dimension + 1 == D) {
      f(of.source, static_cast<std::size_t>(from), static_cast<std::size_t>(to), of.extents[Dimension]);
    } else {
      for (std::size_t i = 0; i < of.extents[Dimension]; ++i) {
        const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(i) * stride(Dimension);
        add_runs<Dimension + 1>(of, from + step, to + step, f);
      }
    }
  }

  situ::distribution<D> distribution_;
  ghost_zones<D> ghosts_;
  std::array<std::size_t, D> allocated_{};
  std::array<std::ptrdiff_t, D - 1> strides_{};
  std::ptrdiff_t first_offset_ = 0;
  std::size_t elements_ = 1;
};

}  // namespace situ
