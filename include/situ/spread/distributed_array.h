// distributed_array<T, D>: one array of D dimensions whose elements are spread over the places of a team.
//
//   situ::distributed_array<double, 2> u{{n, n}, {}, situ::ghost_zones<2>::all(1)};   // at each place, together
//   u.put({3, 4}, 1.0);                                                              // any element, from anywhere
//   u.exchange_ghosts();                                                             // together
//   const auto mine = u.local_view();                                                // this place's part
//   for (...) ... mine(i - 1, j) + mine(i + 1, j) ...                                // ghost elements at its edges
//
// The distribution (distribution.h) decides which place owns which element. Each place keeps its part in its own
// segment, in C array order; other places read and write it one-sidedly, as with put and get. Elements are initialized
// to T{}.
//
// Ghost zones are copies of the neighbours' elements around a part, corners included, with a width for each dimension
// and side. exchange_ghosts() fetches them again; beyond the ends of the array they keep the values that the program
// writes there, unless the dimension is periodic. Dimensions with ghost zones must be cut into single blocks.
//
// Collective: the members of a team construct, resize and destroy the array together, in the same order. It is movable:
// all places may swap two arrays without waiting, and views and pointers stay with the elements. A moved-from array may
// only be assigned to or destroyed. The array belongs to the thread that made it. Errors: operations that access the
// part of a lost place, and collective operations, throw place_lost_error (the other parts stay accessible); points
// outside of the array throw bad_argument. cost: a single element takes two multiplications a dimension and a put or
// get; a region takes one strided transfer for each place that owns some of it, if the blocks are whole.
#pragma once

#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/task.h>
#include <situ/spread/array_view.h>
#include <situ/spread/detail/array_part.h>
#include <situ/spread/detail/part_points.h>
#include <situ/spread/distribution.h>
#include <situ/spread/ghost_plan.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

// A reference to an element of a distributed_array at any place: reads with get and writes with put. It belongs to its
// holder and is as thread-safe as put and get. cost: a get or put for each access.
template <class T>
class remote_element {
 public:
  // For Situ itself.
  explicit remote_element(ptr<T> at) noexcept : at_{at} {}
  remote_element(const remote_element&) noexcept = default;
  // Reads the element. Errors: as get.
  operator T() const { return situ::get(at_); }
  // Writes the element. Errors: as put.
  const remote_element& operator=(const T& value) const {
    situ::put(at_, value);
    return *this;
  }
  const remote_element& operator=(const remote_element& other) const { return *this = static_cast<T>(other); }

 private:
  ptr<T> at_;
};

// An array spread over the places of a team; see above.
template <class T, std::size_t D>
class distributed_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                    std::is_default_constructible_v<T>,
                "situ: elements of a distributed_array are plain data, which put and get move: other things are spread "
                "by distributed_map or dist_object");

 public:
  // The name that standard containers have.
  using value_type = T;

  // Makes an array of `extents` elements, cut in each dimension as `how` says (by default into blocks).
  // Throws bad_argument if the distribution is impossible or if a dimension with ghost zones has several blocks per
  // place; throws out_of_memory at every member if one of them has no room. cost: a split of the team, an all_gather,
  // and the elements written once.
  explicit distributed_array(const std::array<std::size_t, D>& extents, const std::array<cut, D>& how = {},
                             const ghost_zones<D>& ghosts = {}, const team& members = world())
      : how_{how},
        distribution_{extents, members.size(), how},
        plan_{distribution_, ghosts},
        walk_{distribution_, members.index()},
        part_{plan_.elements(), sizeof(T),
              std::max<std::size_t>(alignof(T), 64),  // parts share no cache line with others
              [](void* part, std::size_t n) { std::uninitialized_value_construct_n(static_cast<T*>(part), n); },
              members} {
    plan_ghosts();
  }

  // Changes the extents and keeps the cuts. Elements within both the old and the new extents keep their values, others
  // are T{}; ghost elements are undefined until they are exchanged. Invalidates pointers and views, because the old
  // memory is freed. Collective. Errors: as the constructor; the array is then unchanged. cost: a construction, a
  // strided transfer for each block of dimension 0 and each place that owns some of it, two barriers.
  void resize(const std::array<std::size_t, D>& extents) {
    distributed_array other{extents, how_, ghosts(), members()};
    barrier(members());
    other.take_from(*this);
    std::swap(*this, other);
  }

  // The distribution of elements to members.
  [[nodiscard]] const situ::distribution<D>& distribution() const noexcept { return distribution_; }
  // Extent of a dimension, the box of all points, and the number of elements.
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return distribution_.extent(d); }
  [[nodiscard]] box<D> points() const noexcept { return distribution_.points(); }
  [[nodiscard]] std::size_t size() const noexcept { return points().points(); }
  // The widths that the constructor was given.
  [[nodiscard]] const ghost_zones<D>& ghosts() const noexcept { return plan_.ghosts(); }
  // The array's own team, which has the members in their original order.
  [[nodiscard]] const team& members() const noexcept { return part_.members(); }

  // Returns the place that owns an element. Throws bad_argument for points outside of the array.
  [[nodiscard]] place owner(const point<D>& p) const {
    check_inside(p);
    return part_.place_of(distribution_.owner(p));
  }
  // Returns an element's address, for put, get and atomics. Throws bad_argument, and place_lost_error if the owner is
  // lost.
  [[nodiscard]] ptr<T> pointer_to(const point<D>& p) const {
    check_inside(p);
    std::uint32_t member = 0;
    std::ptrdiff_t offset = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const auto at = distribution_.axis(d).locate(p[d]);
      member = member * distribution_.places(d) + at.place;
      offset += at.local * stride(d);
    }
    part_.check_there(member);
    return ptr<T>{first_of(member) + offset};
  }
  // Reads or writes one element at any place. Errors: as pointer_to.
  [[nodiscard]] T get(const point<D>& p) const { return situ::get(pointer_to(p)); }
  void put(const point<D>& p, const T& value) { situ::put(pointer_to(p), value); }
  // Accesses an element like a variable: `u[{i, j}] = 1.0; double x = u[{k, l}];`. Errors: as pointer_to.
  [[nodiscard]] remote_element<T> operator[](const point<D>& p) { return remote_element<T>{pointer_to(p)}; }
  [[nodiscard]] T operator[](const point<D>& p) const { return get(p); }

  // Reads or writes a region at any places, from or to contiguous memory in C array order. Throws bad_argument if the
  // region extends beyond the array or its number of points differs from the span's size. Concurrent writes of others
  // are seen element by element.
  void get(const box<D>& region, std::span<T> to) const {
    for_each_transfer(
        region, to.size(),
        [&](ptr<T> there, const auto& there_strides, std::ptrdiff_t offset, const auto& strides, const auto& extents) {
          get_strided(to.data() + offset, strides, there, there_strides, extents);
        });
  }
  void put(const box<D>& region, std::span<const T> from) {
    for_each_transfer(
        region, from.size(),
        [&](ptr<T> there, const auto& there_strides, std::ptrdiff_t offset, const auto& strides, const auto& extents) {
          put_strided(there, there_strides, from.data() + offset, strides, extents);
        });
  }

  // Returns a view of this place's part, by local indices from 0; ghost elements are below 0 and beyond its extents.
  // cost: some words.
  [[nodiscard]] array_view<T, D> local_view() noexcept { return view_at<T>({}); }
  [[nodiscard]] array_view<const T, D> local_view() const noexcept { return view_at<const T>({}); }
  // As local_view(), but by the array's indices. Throws bad_argument if places have several blocks. cost: some words.
  [[nodiscard]] array_view<T, D> global_view() { return view_at<T>(own_box().low); }
  [[nodiscard]] array_view<const T, D> global_view() const { return view_at<const T>(own_box().low); }
  // Returns the box of this place's part. Throws bad_argument if places have several blocks, since their points are
  // then no box.
  [[nodiscard]] box<D> own_box() const {
    box<D> own;
    for (std::size_t d = 0; d < D; ++d) {
      if (!distribution_.has_single_blocks(d))
        detail::throw_not_single_blocks(d, "the elements of a place are one box only");
      own.low[d] = walk_.first[d];
      own.high[d] = walk_.first[d] + walk_.count[d];
    }
    return own;
  }

  // Returns the points of this place's elements in memory order, as a forward range that is valid as long as the array.
  // cost: a step is some additions.
  [[nodiscard]] detail::part_points<D> local_indices() const noexcept { return detail::part_points<D>{walk_}; }
  // Calls f(point, element), or f(element) if f takes only that, for each element of this place. cost: a loop's.
  template <class F>
  void for_each_local(F f) {
    detail::for_each_in_part<T, D>(walk_, own_first(), plan_.outer_strides(), f);
  }
  template <class F>
  void for_each_local(F f) const {
    detail::for_each_in_part<const T, D>(walk_, own_first(), plan_.outer_strides(), f);
  }

  // Fetches this place's ghost zones from their owners. Collective: the call sees all values that members wrote to
  // their parts before it, and no member returns before all have fetched. cost: two barriers; a strided get for each
  // neighbour.
  void exchange_ghosts(std::source_location where = std::source_location::current()) {
    barrier(part_.members(), where);
    fetch_ghosts();
    barrier(part_.members(), where);
  }
  // Starts exchange_ghosts() without waiting. Until the future is ready, the elements of this place's part must keep
  // their values, its ghost elements are undefined, and the array must not be moved. One exchange at a time. cost: as
  // exchange_ghosts, and two tasks.
  [[nodiscard]] future<> exchange_ghosts_async(std::source_location where = std::source_location::current()) {
    return async([this, where, all_came = barrier_async(part_.members(), where)]() mutable {
      all_came.get();
      fetch_ghosts();
      barrier(part_.members(), where);
    });
  }

  // For Situ itself: extents of a part's memory including ghost elements, the same at all places.
  [[nodiscard]] const std::array<std::size_t, D>& allocated() const noexcept { return plan_.allocated(); }
  [[nodiscard]] const detail::part_walk<D>& walk() const noexcept { return walk_; }

 private:
  struct ghost_transfer {
    T* to;
    ptr<T> from;
    std::array<std::ptrdiff_t, D> strides;  // on both sides
    std::array<std::size_t, D> extents;
  };

  void check_inside(const point<D>& p) const {
    if (!points().contains(p)) [[unlikely]]
      detail::throw_outside(p, points().high);
  }
  void check_inside(const box<D>& region) const {
    const box<D> all = points();
    for (std::size_t d = 0; d < D; ++d)
      if (region.low[d] < 0 || region.high[d] > all.high[d] || region.low[d] > region.high[d]) [[unlikely]]
        detail::throw_outside(region.low, region.high, all.high);
  }

  // Copies the elements that this place's part has in common with `from`: one block of dimension 0 at a time, including
  // the elements between the blocks of the other dimensions.
  void take_from(const distributed_array& from) {
    if (walk_.is_empty()) return;
    point<D> last = walk_.count;
    for (std::ptrdiff_t& each : last) --each;
    last = distribution_.global(members().index(), last);
    box<D> around = from.points();
    for (std::size_t d = 0; d < D; ++d) {
      around.low[d] = walk_.first[d];
      around.high[d] = std::min(around.high[d], last[d] + 1);
    }
    box<D> fetched;
    std::vector<T> values;
    for_each_local([&](const point<D>& p, T& element) {
      if (!around.contains(p)) return;
      if (!fetched.contains(p)) {
        fetched = around;
        fetched.low[0] = p[0];
        fetched.high[0] = std::min(around.high[0], p[0] + walk_.block[0]);
        values.resize(fetched.points());
        from.get(fetched, values);
      }
      std::size_t at = 0;
      for (std::size_t d = 0; d < D; ++d) at = at * fetched.extent(d) + static_cast<std::size_t>(p[d] - fetched.low[d]);
      element = values[at];
    });
  }

  [[nodiscard]] std::ptrdiff_t stride(std::size_t d) const noexcept { return plan_.stride(d); }
  [[nodiscard]] std::array<std::ptrdiff_t, D> all_strides() const noexcept {
    std::array<std::ptrdiff_t, D> all;
    for (std::size_t d = 0; d < D; ++d) all[d] = stride(d);
    return all;
  }
  // The first element of a member's part, after its leading ghost elements.
  [[nodiscard]] T* first_of(std::uint32_t member) const noexcept {
    return reinterpret_cast<T*>(part_.of(member)) + plan_.first_offset();
  }
  [[nodiscard]] T* own_first() const noexcept { return first_of(part_.members().index()); }

  template <class Element>
  [[nodiscard]] array_view<Element, D> view_at(const point<D>& low) const noexcept {
    box<D> own, around;
    for (std::size_t d = 0; d < D; ++d) {
      own.low[d] = low[d];
      own.high[d] = low[d] + walk_.count[d];
      around.low[d] = own.low[d] - static_cast<std::ptrdiff_t>(ghosts().low[d]);
      around.high[d] = own.high[d] + static_cast<std::ptrdiff_t>(ghosts().high[d]);
    }
    return {own_first(), own, around, plan_.outer_strides()};
  }

  void plan_ghosts() {
    for (const auto& each : plan_.moves(part_.members().index())) {
      ghost_transfer made{own_first() + each.to, ptr<T>{first_of(each.source) + each.from}, all_strides(),
                          each.extents};
      if (made.extents[D - 1] == 1) {  // makes the innermost loop the longest one
        const auto longest = std::max_element(made.extents.begin(), made.extents.end()) - made.extents.begin();
        std::swap(made.extents[D - 1], made.extents[static_cast<std::size_t>(longest)]);
        std::swap(made.strides[D - 1], made.strides[static_cast<std::size_t>(longest)]);
      }
      ghost_transfers_.push_back(made);
    }
  }
  void fetch_ghosts() const {
    for (const ghost_transfer& each : ghost_transfers_)
      get_strided(each.to, each.strides, each.from, each.strides, each.extents);
  }

  // Calls transfer(there, its strides, offset in the region, strides in the region, extents) for each piece of a region
  // that one place owns.
  template <class Transfer>
  void for_each_transfer(const box<D>& region, std::size_t elements, Transfer transfer) const {
    check_inside(region);
    if (region.points() != elements) [[unlikely]]
      detail::throw_other_count(region.points(), elements);
    std::array<std::ptrdiff_t, D> dense;
    dense[D - 1] = 1;
    for (std::size_t d = D - 1; d-- > 0;) dense[d] = dense[d + 1] * static_cast<std::ptrdiff_t>(region.extent(d + 1));
    if (elements == 0) return;
    std::array<detail::axis_piece, D> pieces;
    for_each_piece<0>(region, pieces, [&] {
      bool is_single = true;
      std::uint32_t member = 0;
      std::ptrdiff_t there = 0, offset = 0;
      for (std::size_t d = 0; d < D; ++d) {
        member = member * distribution_.places(d) + pieces[d].place;
        there += pieces[d].local * stride(d);
        offset += pieces[d].offset * dense[d];
        is_single &= pieces[d].blocks == 1;
      }
      part_.check_there(member);
      const ptr<T> first{first_of(member) + there};
      if (is_single) {
        const auto [theirs, ours, extents] = strides_of<1>(pieces, dense);
        transfer(first, theirs, offset, ours, extents);
      } else {
        const auto [theirs, ours, extents] = strides_of<2>(pieces, dense);
        transfer(first, theirs, offset, ours, extents);
      }
    });
  }
  template <std::size_t Dimension, class F>
  void for_each_piece(const box<D>& region, std::array<detail::axis_piece, D>& pieces, const F& f) const {
    if constexpr (Dimension == D) {
      f();
    } else {
      distribution_.axis(Dimension).for_each_piece(region.low[Dimension], region.high[Dimension],
                                                   [&](const detail::axis_piece& piece) {
                                                     pieces[Dimension] = piece;
                                                     for_each_piece<Dimension + 1>(region, pieces, f);
                                                   });
    }
  }

  template <std::size_t Levels>
  struct strides_and_extents {
    std::array<std::ptrdiff_t, D * Levels> there, here;
    std::array<std::size_t, D * Levels> extents;
  };
  // With one level, each dimension is one run; with two, each dimension is a sequence of runs and the elements of a
  // run.
  template <std::size_t Levels>
  [[nodiscard]] strides_and_extents<Levels> strides_of(const std::array<detail::axis_piece, D>& pieces,
                                                       const std::array<std::ptrdiff_t, D>& dense) const noexcept {
    strides_and_extents<Levels> made;
    for (std::size_t d = 0, i = 0; d < D; ++d) {
      if constexpr (Levels == 2) {
        const detail::cut_axis& axis = distribution_.axis(d);
        made.there[i] = axis.block * stride(d);
        made.here[i] = axis.block * axis.places * dense[d];
        made.extents[i++] = static_cast<std::size_t>(pieces[d].blocks);
      }
      made.there[i] = stride(d);
      made.here[i] = pieces[d].stride * dense[d];
      made.extents[i++] = static_cast<std::size_t>(pieces[d].length);
    }
    return made;
  }

  std::array<cut, D> how_;
  situ::distribution<D> distribution_;
  ghost_plan<D> plan_;
  detail::part_walk<D> walk_;  // of this place's part
  detail::array_part part_;
  std::vector<ghost_transfer> ghost_transfers_;
};

}  // namespace situ
