// Values travel by bytes: they are measured and written to bytes at one place, and read back, with every bound
// checked, at another.
//
//   struct order { std::string customer; std::vector<int> items; std::map<std::string, double> prices; };
//   double sum = situ::at(p, total, order{...});                      // nothing is declared
//
// A value is: trivially copyable data; a string; any container with an allocator that has push_back or emplace_hint
// (vector, deque, list, map, set, the unordered and multi forms, those of other libraries); array, pair, tuple,
// optional, variant, unique_ptr, shared_ptr, weak_ptr, filesystem::path; an aggregate of values; a class that lists
// its fields with SITU_DESCRIBE (base/describe.h) and has a default constructor. For any other class, or to send one
// of these types in another way, the program specialises wire<T>, which takes precedence over all these rules. A
// pointer, a reference or a view is not a value: the compile error names the field and says what to write. An
// aggregate with pointers to described classes, or with Situ's containers, travels as an object graph (situ/graph.h).
//
// Shared objects stay shared: a message (all arguments of a call, a result, a part of a collective) carries each
// object that is reached by std::shared_ptr once, also if the objects form cycles. A std::weak_ptr arrives bound if
// the message carries its object, and expired otherwise. Errors of writing: bad_argument if two shared_ptr own one
// object and point to different parts of it, or have different types, and if classes that contain themselves, or
// shared objects, are nested more than 100 levels deep.
//
// Layout: the value's bytes in host order (both ends run the same build); a container's elements follow a 64-bit
// count. The layout does not describe itself: the function that travels along knows the types. Comparators, hashes and
// allocators do not travel: the receiver makes new ones. Classes may contain themselves (by vector, unique_ptr, ...),
// up to 100 levels deep.
//
// Nothing but values leaves the place: padding is sent as zero, and optionals, variants and aggregates that hold one
// are sent by their parts, so that the bytes of a value that was reset are not sent. Equal values give equal bytes,
// except for unordered containers. The compiler does not reveal private members, so these are sent as
// base/detail/padding.h says: a class with a private optional needs a wire<T> of its own. cost: a memcpy of plain
// data, also in a vector or string; otherwise a call for each part. Reading constructs each object once, in its final
// position, and allocates if the object's type does.
#pragma once

#include <situ/base/describe.h>
#include <situ/runtime/detail/value_kinds.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace situ {

namespace detail {
[[noreturn]] void throw_truncated(std::size_t wanted_bytes, std::size_t left_bytes);
[[noreturn]] void throw_bad_alternative(std::size_t index, std::size_t alternatives);
[[noreturn]] void throw_too_deep(std::size_t levels);
[[noreturn]] void throw_sent_too_deep(std::size_t levels, std::string_view type);
[[noreturn]] void throw_repeated_keys(std::size_t announced, std::size_t different);
class nesting;
template <class T>
struct value_wire;
}  // namespace detail

namespace detail {
// Takes the parts that do not fit into the writer's buffer; nobody reads it.
extern constinit thread_local std::byte lost_part[largest_lost_part] __attribute__((tls_model("initial-exec")));
// The depth of nested classes that the calling thread is measuring or writing.
extern constinit thread_local std::size_t sent_levels __attribute__((tls_model("initial-exec")));
}  // namespace detail

// Writes into a buffer. If the buffer was sized beforehand by the sum of the values' size(), the writer checks
// nothing. If the buffer has a given number of bytes, the writer counts the parts that do not fit and does not write
// them.
class wire_writer {
 public:
  explicit wire_writer(std::byte* at) noexcept : at_{at} {}
  // Writes at most `bytes` bytes. pre: no call of skip() asks for more than detail::largest_lost_part.
  wire_writer(std::byte* at, std::size_t bytes) noexcept
      : at_{at}, end_{reinterpret_cast<std::uintptr_t>(at) + bytes} {}
  // Copies `count` bytes to the writer's position and advances the position.
  void write(const void* bytes, std::size_t count) noexcept {
    if (!fits(count)) [[unlikely]] {
      lost_ += count;
      return;
    }
    if (count != 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  // Returns room for the next `count` bytes. The caller writes all of them.
  [[nodiscard]] std::byte* skip(std::size_t count) noexcept {
    if (!fits(count)) [[unlikely]] {
      lost_ += count;
      return detail::lost_part;
    }
    return std::exchange(at_, at_ + count);
  }
  // Returns the number of bytes written or counted, in a buffer that begins at `begin`.
  [[nodiscard]] std::size_t bytes_since(const std::byte* begin) const noexcept {
    return static_cast<std::size_t>(at_ - begin) + lost_;
  }

 private:
  [[nodiscard]] bool fits(std::size_t count) const noexcept {
    return count <= end_ - reinterpret_cast<std::uintptr_t>(at_);
  }
  std::byte* at_;
  std::uintptr_t end_ = ~std::uintptr_t{0};
  std::size_t lost_ = 0;  // bytes that did not fit
};

// Reads from untrusted bytes: each read is checked against the bytes that are left. Throws bad_message.
class wire_reader {
 public:
  wire_reader(const std::byte* at, std::size_t bytes) noexcept : at_{at}, left_{bytes} {}
  // The number of bytes that have not been read yet.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  // Copies the next `count` bytes to `destination`.
  void read(void* destination, std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    if (count != 0) std::memcpy(destination, at_, count);
    at_ += count;
    left_ -= count;
  }
  // Returns a pointer to the next `count` bytes in the message and advances beyond them.
  [[nodiscard]] const std::byte* take(std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    left_ -= count;
    return std::exchange(at_, at_ + count);
  }
  // Reads a count of items that take at least `least_bytes` each. A forged count is refused, so it cannot make the
  // reader allocate more than the message's size.
  [[nodiscard]] std::size_t read_count(std::size_t least_bytes) {
    std::uint64_t count = 0;
    read(&count, sizeof(count));
    if (least_bytes != 0 && count > left_ / least_bytes) [[unlikely]]
      detail::throw_truncated(count, left_);
    return count;
  }

 private:
  friend class detail::nesting;
  const std::byte* at_;
  std::size_t left_;
  std::size_t levels_ = 0;  // depth of nested classes that are being read
};

// Measures, writes and reads a T by three static functions. A program specialises it for a class of its own:
//
//   size(value)            returns the number of bytes that write() takes for this value
//   write(writer, value)   writes exactly that many bytes
//   read(reader)           returns the value; checks every bound by the reader, and throws bad_message if bytes are bad
template <class T>
struct wire {
  using is_general = void;  // for Situ itself: marks the primary template, not a specialisation
  // Returns the number of bytes that write() writes. cost: a look at each element.
  [[nodiscard]] static constexpr std::size_t size(const T& value) { return detail::value_wire<T>::size(value); }
  // Writes the value. cost: a copy of the bytes.
  static void write(wire_writer& writer, const T& value) { detail::value_wire<T>::write(writer, value); }
  // Reads a value. Throws situ::error (bad_message) if the bytes are not a T. cost: a copy, and what T allocates.
  [[nodiscard]] static T read(wire_reader& reader) { return detail::value_wire<T>::read(reader); }
};

}  // namespace situ

#include <situ/runtime/detail/shared_objects.h>
#include <situ/runtime/detail/value_wires.h>

namespace situ {

// True if values of T can be sent to another place.
template <class T>
concept travels = detail::can_travel<T>();

}  // namespace situ
