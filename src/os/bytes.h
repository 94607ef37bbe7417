// Framing of bytes: the values, texts and lists of a message, one after another. A value has the bytes that it has in
// memory, in the processor's order, and nothing is put between values; a length or a count is a u32.
//
// A reader trusts no byte: it compares each length with the bytes that are left, and it allocates nothing. It remembers
// a failure: from then on it has no bytes, and returns zeros and empty ranges. So a caller takes all fields, and asks
// once, at the end, whether all were there (is_done()). All ranges and texts that it returns are parts of its bytes.
//
// Not thread-safe. cost: all is inline; that of memcpy, and a comparison if the size is not known to the compiler.
#pragma once

#include <situ/base/detail/assert.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace situ::os {

// A value that its bytes describe: no pointer, no view of other bytes, and no bool, of which most bytes are none.
template <class T>
concept value_of_bytes = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, bool> &&
                         !std::ranges::enable_view<T>;

// Returns the bytes of the value. The caller keeps the value as long as it uses them.
template <value_of_bytes T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span{&value, 1});
}

// Returns the bytes as text.
[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The functions that both writers below share. Each returns the writer, for the next call. Room::put(from, bytes)
// appends bytes.
template <class Room>
class appending {
 public:
  template <value_of_bytes... T>
  Room& add(const T&... values) {
    (room().put(&values, sizeof values), ...);
    return room();
  }
  Room& add_bytes(std::span<const std::byte> bytes) {
    room().put(bytes.data(), bytes.size());
    return room();
  }
  Room& add_text(std::string_view text) {
    room().put(text.data(), text.size());
    return room();
  }
  // Appends a count, or a length and the bytes. pre: less than 2^32.
  Room& add_count(std::size_t count) { return add(static_cast<std::uint32_t>(count)); }
  Room& add_sized(std::span<const std::byte> bytes) { return add_count(bytes.size()).add_bytes(bytes); }
  Room& add_sized_text(std::string_view text) { return add_count(text.size()).add_text(text); }

 private:
  [[nodiscard]] Room& room() noexcept { return static_cast<Room&>(*this); }
};

// Appends to a vector of the caller's, which outlives it.
class byte_writer : public appending<byte_writer> {
 public:
  explicit byte_writer(std::vector<std::byte>& to) noexcept : to_{to} {}
  void put(const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    to_.insert(to_.end(), begin, begin + bytes);
  }

 private:
  std::vector<std::byte>& to_;
};

// A message of at most `most` bytes, which allocates nothing. More bytes are a bug of the caller, and end the program.
template <std::size_t most>
class short_bytes : public appending<short_bytes<most>> {
 public:
  void put(const void* from, std::size_t bytes) noexcept {
    SITU_ASSERT(1, bytes <= most - size_, "the message has room for fewer bytes: check lengths before you add them");
    if (bytes > 0) std::memcpy(room_.data() + size_, from, bytes);
    size_ += bytes;
  }
  // Returns the bytes that were added.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::span{room_}.first(size_); }
  void clear() noexcept { size_ = 0; }

 private:
  std::array<std::byte, most> room_;  // not initialized, since only bytes that were added are read
  std::size_t size_ = 0;
};

// Takes the fields of a message that another process has sent, in order. pre: the bytes live as long as the reader and
// what it returns.
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : left_{bytes} {}

  // Sets the values, one after another. Returns false if the bytes do not hold them all: the first that is not whole,
  // and those after it, stay as they are.
  template <value_of_bytes... T>
  bool take(T&... values) noexcept {
    return (fill(std::span{&values, 1}) && ...);
  }
  // As above, and returns the value, or T{}.
  template <value_of_bytes T>
  [[nodiscard]] T take() noexcept {
    T value{};
    take(value);
    return value;
  }
  // Sets all values, or none and returns false.
  template <value_of_bytes T>
  bool fill(std::span<T> values) noexcept {
    const std::span<const std::byte> from = take_bytes(values.size_bytes());
    if (has_failed_) return false;
    if (!values.empty()) std::memcpy(values.data(), from.data(), values.size_bytes());
    return true;
  }
  // Takes so many bytes; returns none if there are fewer.
  [[nodiscard]] std::span<const std::byte> take_bytes(std::uint64_t bytes) noexcept {
    if (bytes > left_.size()) [[unlikely]] {
      fail();
      return {};
    }
    const std::span<const std::byte> first = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return first;
  }
  [[nodiscard]] std::string_view take_text(std::uint64_t bytes) noexcept { return text_of(take_bytes(bytes)); }
  // Takes a length and so many bytes.
  [[nodiscard]] std::span<const std::byte> take_sized() noexcept { return take_bytes(take<std::uint32_t>()); }
  [[nodiscard]] std::string_view take_sized_text() noexcept { return text_of(take_sized()); }
  // Takes the count of a list whose items have at least `least_bytes` bytes each. If the bytes that are left cannot
  // hold so many, the reader fails, and the count is 0: a caller may allocate that many items. pre: least_bytes > 0.
  [[nodiscard]] std::uint32_t take_count(std::size_t least_bytes) noexcept {
    const auto count = take<std::uint32_t>();
    if (can_hold(count, least_bytes)) return count;
    fail();
    return 0;
  }
  // Returns true if the bytes that are left can hold `count` items of at least `least_bytes` bytes. pre: as above.
  [[nodiscard]] bool can_hold(std::uint64_t count, std::size_t least_bytes) const noexcept {
    return count <= left_.size() / least_bytes;
  }

  // Returns the bytes that are left, and leaves them there.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return left_; }
  [[nodiscard]] bool is_empty() const noexcept { return left_.empty(); }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  // Returns true if everything that was taken was there, and no more than that.
  [[nodiscard]] bool is_done() const noexcept { return !has_failed_ && left_.empty(); }

 private:
  void fail() noexcept {
    left_ = {};
    has_failed_ = true;
  }

  std::span<const std::byte> left_;
  bool has_failed_ = false;
};

// Returns the bytes as a value, or nullopt if they are more or fewer than its size.
template <value_of_bytes T>
[[nodiscard]] std::optional<T> whole_value(std::span<const std::byte> bytes) noexcept {
  std::optional<T> value;
  if (bytes.size() == sizeof(T)) std::memcpy(&value.emplace(), bytes.data(), sizeof(T));
  return value;
}

// Returns the bytes as values, in a vector of as many bytes. Last bytes that are less than a value are left out.
template <value_of_bytes T>
[[nodiscard]] std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  byte_reader{bytes}.fill(std::span{values});
  return values;
}

}  // namespace situ::os
