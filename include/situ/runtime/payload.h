// payload<T>: elements that a call carries in its message and that its function reads where they lie there.
//
//   double sum = situ::at(
//       p, [](situ::payload<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); },
//       situ::payload{my_vector});
//
// At the caller it names any contiguous range, which is copied once, straight into the message; at the target it names
// the elements in the message, where a std::vector would be allocated and copied once more. They are there until the
// function returns. So that the message's room never waits for another message, such a function does as the handler of
// an active message does: it neither waits nor sends (SITU_ASSERT), and returns no future; it may start tasks. Who must
// wait takes a std::vector. Where the call is larger than a message, the elements are read in a buffer of the caller's
// segment; at the calling place, in the caller's range itself. cost: one copy of the elements; reading one is a load.
#pragma once

#include <situ/base/detail/padding.h>
#include <situ/runtime/serialize.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <type_traits>

namespace situ {

// A view of elements, as a std::span is: of the caller's before the call, of the message's in the function. T is
// trivially copyable, without pointers, optionals or variants, no bool, and aligned to at most 16 bytes.
template <class T>
class payload {
  static_assert(detail::is_plain<T> && !detail::holds_choice<T>() && !std::is_empty_v<T> && !std::is_same_v<T, bool>,
                "situ: the elements of a situ::payload are trivially copyable values without pointers, optionals or "
                "variants, and no bool: pass a std::vector");
  static_assert(alignof(T) <= 16, "situ: the elements of a situ::payload are aligned to at most 16 bytes");

 public:
  using value_type = T;  // of an element
  constexpr payload() noexcept = default;
  // Names elements, or those of a range. pre: they stay until at() or async_at() returns.
  constexpr payload(const T* first, std::size_t count) noexcept : first_{first}, count_{count} {}
  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && std::same_as<std::ranges::range_value_t<Range>, T> &&
             !std::same_as<std::remove_cvref_t<Range>, payload>)
  explicit constexpr payload(const Range& elements) noexcept
      : payload{std::ranges::data(elements), std::ranges::size(elements)} {}

  // As of a std::span. pre of front() and back(): there is an element.
  [[nodiscard]] constexpr const T* data() const noexcept { return first_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr const T* begin() const noexcept { return first_; }
  [[nodiscard]] constexpr const T* end() const noexcept { return first_ + count_; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const noexcept { return first_[i]; }
  [[nodiscard]] constexpr const T& front() const noexcept { return first_[0]; }
  [[nodiscard]] constexpr const T& back() const noexcept { return first_[count_ - 1]; }

 private:
  const T* first_ = nullptr;
  std::size_t count_ = 0;
};
template <std::ranges::contiguous_range Range>
payload(const Range&) -> payload<std::ranges::range_value_t<Range>>;

namespace detail {

template <class T>
inline constexpr bool is_payload = false;
template <class T>
inline constexpr bool is_payload<payload<T>> = true;
// Its bytes are an address of this process.
template <class T>
inline constexpr bool is_view<payload<T>> = true;

// How an argument gets into the message of a call and out of it. A payload is no value: nothing else has it travel.
template <class A>
struct argument_wire : wire<A> {};

// A count, then the elements, aligned. Sender and receiver see the message at the same address, so both find the same
// first element; the bytes that are left over of `slack` are zero.
template <class T>
struct argument_wire<payload<T>> {
  static constexpr std::size_t slack = alignof(T) - 1;

  static std::size_t size(const payload<T>& elements) noexcept {
    return sizeof(std::uint64_t) + slack + elements.size() * sizeof(T);
  }
  static void write(wire_writer& writer, const payload<T>& elements) noexcept {
    const std::uint64_t count = elements.size();
    writer.write(&count, sizeof(count));
    const std::size_t bytes = elements.size() * sizeof(T);
    std::byte* const room = writer.skip(slack + bytes);
    if constexpr (slack != 0) {
      std::memset(room, 0, slack);
      std::memset(room + bytes, 0, slack);
    }
    wire_writer aligned{room + distance_to_first(room)};
    if constexpr (has_padding<T>()) {
      for (const T& each : elements) write_value(aligned.skip(sizeof(T)), each);
    } else {
      aligned.write(elements.data(), bytes);
    }
  }
  static payload<T> read(wire_reader& reader) {
    const std::size_t count = reader.read_count(sizeof(T));
    const std::byte* const room = reader.take(slack + count * sizeof(T));
    return {reinterpret_cast<const T*>(room + distance_to_first(room)), count};
  }

 private:
  static std::size_t distance_to_first(const std::byte* room) noexcept {
    return -reinterpret_cast<std::uintptr_t>(room) & slack;
  }
};

template <class A>
inline constexpr bool is_viewed = false;  // detail/body.h
template <class A>
consteval void check_argument() {
  if constexpr (!is_payload<A> && !is_viewed<A>) check_value<A>();
}

}  // namespace detail
}  // namespace situ
