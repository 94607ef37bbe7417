// situ::shared_span<T>: consecutive elements in some place's segment, given by the first element and their number. A
// span is passed by value in calls and collectives, as a ptr is; its holder reads and writes the elements one-sided.
//
//   std::vector<double, situ::allocator<double>> field(1000);           // at place 0
//   const situ::shared_span<double> all{field};
//   situ::at(situ::place{1}, [](situ::shared_span<double> field) {
//     std::vector<double> copy = situ::get(field.subspan(10, 20));
//     situ::put(field.first(3), std::span<const double>{copy}.first(3));
//   }, all);
//
// A span owns nothing: the memory must outlive every use of the span. Thread-safe as a pointer is.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/base/is_data.h>
#include <situ/fabric/rma.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace situ {

// Elements first ... first + size - 1. cost: two words; no member touches the memory unless its comment says so.
template <class T>
class shared_span {
 public:
  // The names of std::span.
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static constexpr std::size_t npos = std::numeric_limits<std::size_t>::max();

  constexpr shared_span() noexcept = default;
  shared_span(ptr<T> first, std::size_t count) noexcept : first_{first}, size_{count} {}
  // Makes a span of a container or array whose elements are in a segment. Throws bad_address if they are in none, and
  // no_runtime.
  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && !std::same_as<std::remove_cvref_t<Range>, shared_span> &&
             std::is_convertible_v<std::remove_reference_t<std::ranges::range_reference_t<Range>> (*)[], T (*)[]>)
  explicit shared_span(Range&& elements)
      : first_{static_cast<T*>(std::ranges::data(elements))}, size_{std::ranges::size(elements)} {
    if (size_ != 0) static_cast<void>(first_.place());
  }
  // Converts to a span of more restricted elements, for instance const ones.
  template <class U>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && !std::is_same_v<U, T>)
  shared_span(const shared_span<U>& other) noexcept : first_{other.data()}, size_{other.size()} {}

  // The number of elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  // The address of the first element.
  [[nodiscard]] ptr<T> data() const noexcept { return first_; }
  // The place whose segment holds the elements. Throws bad_address for an empty span.
  [[nodiscard]] situ::place place() const { return first_.place(); }
  // Returns true if that is the calling place.
  [[nodiscard]] bool is_here() const noexcept { return first_.is_here(); }
  // The elements as plain memory: dereferenceable at every place of this host.
  [[nodiscard]] std::span<T> local() const noexcept { return {first_.local(), size_}; }

  // The address of element i. pre: i < size().
  [[nodiscard]] ptr<T> operator[](std::size_t i) const {
    SITU_ASSERT(1, i < size_, "an index into a shared_span is less than its size");
    return first_ + static_cast<std::ptrdiff_t>(i);
  }
  // `count` elements from `offset` on; without a count, all elements from there on. pre: offset + count <= size().
  [[nodiscard]] shared_span subspan(std::size_t offset, std::size_t count = npos) const {
    SITU_ASSERT(1, offset <= size_ && (count == npos || count <= size_ - offset),
                "a part of a shared_span lies within it");
    return {first_ + static_cast<std::ptrdiff_t>(offset), count == npos ? size_ - offset : count};
  }
  // The first, and the last, `count` elements. pre: count <= size().
  [[nodiscard]] shared_span first(std::size_t count) const { return subspan(0, count); }
  [[nodiscard]] shared_span last(std::size_t count) const {
    SITU_ASSERT(1, count <= size_, "a part of a shared_span lies within it");
    return subspan(size_ - count);
  }

 private:
  ptr<T> first_;
  std::size_t size_ = 0;
};

template <std::ranges::contiguous_range Range>
shared_span(Range&&) -> shared_span<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

template <class T>
inline constexpr bool is_data<shared_span<T>> = true;

namespace detail {
[[noreturn]] void throw_sizes_differ(std::size_t destination, std::size_t source);
inline void check_same_size(std::size_t destination, std::size_t source) {
  if (destination != source) [[unlikely]]
    throw_sizes_differ(destination, source);
}
}  // namespace detail

// Returns a copy of the elements. Errors: bad_address, no_runtime. cost: memcpy, and the vector's allocation.
template <class T>
[[nodiscard]] std::vector<std::remove_cv_t<T>> get(shared_span<T> source) {
  std::vector<std::remove_cv_t<T>> values(source.size());
  get(values.data(), source.data(), values.size());
  return values;
}
// Copies the elements to private memory, or from private memory. Errors: bad_argument if the numbers of elements differ
// (nothing is copied then); bad_address, no_runtime. cost: memcpy.
template <class T>
void get(std::span<std::remove_cv_t<T>> destination, shared_span<T> source) {
  detail::check_same_size(destination.size(), source.size());
  get(destination.data(), source.data(), source.size());
}
template <class T>
void put(shared_span<T> destination, std::span<const std::type_identity_t<T>> source) {
  detail::check_same_size(destination.size(), source.size());
  put(destination.data(), source.data(), source.size());
}
// Copies between any two places. pre: the ranges do not overlap. Errors: as above. cost: memcpy.
template <class T>
void copy(shared_span<T> destination, shared_span<const std::type_identity_t<T>> source) {
  detail::check_same_size(destination.size(), source.size());
  copy(destination.data(), source.data(), source.size());
}

}  // namespace situ
