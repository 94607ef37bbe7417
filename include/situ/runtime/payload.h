// payload<T>: elements that a call carries in its message. The called function reads them in the message.
//
//   double sum = situ::at(
//       p, [](situ::payload<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); },
//       situ::payload{my_vector});
//
// At the caller a payload names any contiguous range, which is copied once, straight into the message. At the target
// it names the elements in the message; a std::vector would be allocated there and copied once more. The elements stay
// valid until the function returns. The room of a message must never wait for another message, so a function with a
// payload obeys the rules of an active message's handler: it neither waits nor sends (SITU_ASSERT) and returns no
// future; it may start tasks. A function that must wait takes a std::vector instead. If the call is larger than a
// message, the function reads the elements in a buffer of the caller's segment; in a call to the calling place, it
// reads the caller's range itself. cost: one copy of the elements; reading an element is a load.
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

// A view of elements, like a std::span: of the caller's elements before the call, of the message's elements in the
// function. T is trivially copyable, holds no pointers, optionals or variants, is not bool, and is aligned to at most
// 16 bytes.
template <class T>
class payload {
  static_assert(detail::is_plain<T> && !detail::holds_choice<T>() && !std::is_empty_v<T> && !std::is_same_v<T, bool>,
                "situ: the elements of a situ::payload are trivially copyable values without pointers, optionals or "
                "variants, and no bool: pass a std::vector");
  static_assert(alignof(T) <= 16, "situ: the elements of a situ::payload are aligned to at most 16 bytes");

 public:
  using value_type = T;  // the type of an element
  constexpr payload() noexcept = default;
  // Names `count` elements, or the elements of a range. pre: the elements stay until at() or async_at() returns.
  constexpr payload(const T* first, std::size_t count) noexcept : first_{first}, count_{count} {}
  template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> && std::same_as<std::ranges::range_value_t<Range>, T> &&
             !std::same_as<std::remove_cvref_t<Range>, payload>)
  explicit constexpr payload(const Range& elements) noexcept
      : payload{std::ranges::data(elements), std::ranges::size(elements)} {}

  // These members act as those of std::span. front() and back() require at least one element.
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
// A payload's bytes are an address of this process.
template <class T>
inline constexpr bool is_view<payload<T>> = true;

// Writes an argument into the message of a call, and reads it there. A payload is not a value: it travels only so.
template <class A>
struct argument_wire : wire<A> {};

// Writes a count, then the elements, aligned. The sender and the receiver see the message at the same address, so both
// find the same first element; the unused bytes of `slack` are zero.
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
