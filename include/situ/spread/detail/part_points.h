// The points of one place's part of a distribution, in memory order; computed by counting, without divisions.
#pragma once

#include <situ/spread/distribution.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

namespace situ::detail {

// The constants of a walk through a part.
template <std::size_t D>
struct part_walk {
  point<D> count{};  // extents of the part
  point<D> first{};  // the part's first point
  point<D> block{};  // elements per block
  point<D> gap{};    // from the end of a block to the start of this part's next block

  constexpr part_walk() noexcept = default;
  constexpr part_walk(const distribution<D>& of, std::uint32_t member) noexcept {
    if (!of.has_part(member)) return;
    const auto along = of.coordinates(member);
    for (std::size_t d = 0; d < D; ++d) {
      const cut_axis& axis = of.axis(d);
      count[d] = axis.count(along[d]);
      first[d] = along[d] * axis.block;
      block[d] = axis.block;
      gap[d] = (axis.places - 1) * axis.block;
    }
  }
  [[nodiscard]] constexpr bool is_empty() const noexcept {
    for (std::size_t d = 0; d < D; ++d)
      if (count[d] == 0) return true;
    return false;
  }
};

// A forward range of global points.
template <std::size_t D>
class part_points {
 public:
  class iterator {
   public:
    using value_type = point<D>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;

    constexpr iterator() noexcept = default;
    constexpr iterator(const part_walk<D>& walk, bool is_end) noexcept
        : walk_{&walk}, at_{walk.first}, left_{walk.block} {
      if (is_end || walk.is_empty()) local_[0] = walk.count[0];
    }
    [[nodiscard]] constexpr point<D> operator*() const noexcept { return at_; }
    constexpr iterator& operator++() noexcept {
      for (std::size_t d = D; d-- > 0;) {
        ++at_[d];
        if (--left_[d] == 0) {
          at_[d] += walk_->gap[d];
          left_[d] = walk_->block[d];
        }
        if (++local_[d] < walk_->count[d] || d == 0) break;
        local_[d] = 0;
        at_[d] = walk_->first[d];
        left_[d] = walk_->block[d];
      }
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept { return a.local_ == b.local_; }

   private:
    const part_walk<D>* walk_ = nullptr;
    point<D> at_{};
    point<D> local_{};
    point<D> left_{};  // in the current block
  };

  constexpr explicit part_points(const part_walk<D>& walk) noexcept : walk_{&walk} {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return {*walk_, false}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return {*walk_, true}; }

 private:
  const part_walk<D>* walk_;
};

// Calls f(point, element) or f(element) for each element of a part, whose first element is at `data`. `strides` are the
// distances between elements in each dimension but the last, in which elements are contiguous.
template <class T, std::size_t D, class F, std::size_t Dimension = 0>
void for_each_in_part(const part_walk<D>& walk, T* data, const std::array<std::ptrdiff_t, D - 1>& strides, F& f,
                      point<D> at = {}) {
  for (std::ptrdiff_t begin = 0, global = walk.first[Dimension]; begin < walk.count[Dimension];) {
    const std::ptrdiff_t length = std::min(walk.block[Dimension], walk.count[Dimension] - begin);
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      at[Dimension] = global + i;
      if constexpr (Dimension + 1 < D) {
        for_each_in_part<T, D, F, Dimension + 1>(walk, data + (begin + i) * strides[Dimension], strides, f, at);
      } else if constexpr (std::is_invocable_v<F&, const point<D>&, T&>) {
        f(at, data[begin + i]);
      } else {
        f(data[begin + i]);
      }
    }
    begin += length;
    global += length + walk.gap[Dimension];
  }
}

}  // namespace situ::detail
