// How values travel: measured, written to bytes at one place, read back (with every bound checked) at another.
//
//   struct order { std::string customer; std::vector<int> items; std::map<std::string, double> prices; };
//   double sum = situ::at(p, total, order{...});                      // nothing is declared
//
// A value is: trivially copyable data; a string; any container with an allocator that has push_back or emplace_hint
// (vector, deque, list, map, set, the unordered and multi forms, those of other libraries); array, pair, tuple,
// optional, variant, unique_ptr, shared_ptr, weak_ptr, filesystem::path; an aggregate of values; a class that lists its
// fields with SITU_DESCRIBE (base/describe.h) and has a default constructor. Any other class, and any of these that is
// to travel in another way, has a specialisation of wire<T>, which goes before all rules. A pointer, a reference or a
// view is no value: the compile error names the field and says what to write. An aggregate with pointers to described
// classes, or with Situ's containers, travels as an object graph (situ/graph.h).
//
// What is shared stays shared: within a message (all arguments of a call, a result, a part of a collective) each object
// that std::shared_ptr lead to goes once, also in cycles. A std::weak_ptr arrives bound where its object goes along,
// else expired. Errors of writing: bad_argument where two own one object and lead to different parts of it, or as
// different types, and where classes that contain themselves, or shared objects, lie within each other more than 100
// levels deep.
//
// Layout: the value's bytes in host order (both ends run the same build), containers behind a 64-bit count. Not
// self-describing: the function that travels along knows the types. Comparators, hashes and allocators do not travel:
// they are made anew. Classes may contain themselves (by vector, unique_ptr, ...), up to 100 levels deep.
//
// Nothing but values leaves: padding is zero, and optionals, variants and aggregates that hold such travel by parts, so
// that what is not there any more stays behind. Equal values give equal bytes, but for unordered containers. What no
// compiler tells (private members) goes as base/detail/padding.h says: such a class that holds an optional has a
// wire<T> of its own. cost: a memcpy of what is plain, also in a vector or string; else a call for each part. What is
// read is built once, where it belongs, and allocates where its type does.
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
// Where a part goes that has no room; nobody reads it.
extern constinit thread_local std::byte lost_part[largest_lost_part] __attribute__((tls_model("initial-exec")));
// Classes within classes that the thread is measuring or writing.
extern constinit thread_local std::size_t sent_levels __attribute__((tls_model("initial-exec")));
}  // namespace detail

// Writes into a buffer that was measured beforehand, by size() of all that goes there: then nothing is checked. Or into
// one of so many bytes, where all that does not fit is counted and not written.
class wire_writer {
 public:
  explicit wire_writer(std::byte* at) noexcept : at_{at} {}
  // Of what skip() is called with, nothing is larger than detail::largest_lost_part.
  wire_writer(std::byte* at, std::size_t bytes) noexcept
      : at_{at}, end_{reinterpret_cast<std::uintptr_t>(at) + bytes} {}
  // Copies bytes to where the writer stands, and goes on behind them.
  void write(const void* bytes, std::size_t count) noexcept {
    if (!fits(count)) [[unlikely]] {
      lost_ += count;
      return;
    }
    if (count != 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  // The next `count` bytes, for the caller to write all of them.
  [[nodiscard]] std::byte* skip(std::size_t count) noexcept {
    if (!fits(count)) [[unlikely]] {
      lost_ += count;
      return detail::lost_part;
    }
    return std::exchange(at_, at_ + count);
  }
  // Bytes that have been written or counted, in a buffer that begins here.
  [[nodiscard]] std::size_t bytes_since(const std::byte* begin) const noexcept {
    return static_cast<std::size_t>(at_ - begin) + lost_;
  }

 private:
  [[nodiscard]] bool fits(std::size_t count) const noexcept {
    return count <= end_ - reinterpret_cast<std::uintptr_t>(at_);
  }
  std::byte* at_;
  std::uintptr_t end_ = ~std::uintptr_t{0};
  std::size_t lost_ = 0;  // bytes that had no room
};

// Reads from bytes that may be anything: each read is checked against what is left. Throws bad_message.
class wire_reader {
 public:
  wire_reader(const std::byte* at, std::size_t bytes) noexcept : at_{at}, left_{bytes} {}
  // Bytes that have not been read yet.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  // Copies the next bytes out.
  void read(void* destination, std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    if (count != 0) std::memcpy(destination, at_, count);
    at_ += count;
    left_ -= count;
  }
  // The next `count` bytes where they lie.
  [[nodiscard]] const std::byte* take(std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    left_ -= count;
    return std::exchange(at_, at_ + count);
  }
  // A count of things that take at least `least_bytes` each, so that a false count cannot make us allocate beyond the
  // message.
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
  std::size_t levels_ = 0;  // of classes within classes, that are being read
};

// How a T travels, by three static functions. A program specialises it for a class of its own:
//
//   size(value)            how many bytes write() takes for this value
//   write(writer, value)   writes exactly so many
//   read(reader)           returns the value; checks every bound by the reader, and throws bad_message of bad bytes
template <class T>
struct wire {
  using is_general = void;  // for Situ itself: this is no specialisation
  // The bytes that write() writes. cost: a look at each element.
  [[nodiscard]] static constexpr std::size_t size(const T& value) { return detail::value_wire<T>::size(value); }
  // Writes the value. cost: a copy of the bytes.
  static void write(wire_writer& writer, const T& value) { detail::value_wire<T>::write(writer, value); }
  // Reads one; throws situ::error (bad_message) where the bytes are none. cost: a copy, and what T allocates.
  [[nodiscard]] static T read(wire_reader& reader) { return detail::value_wire<T>::read(reader); }
};

}  // namespace situ

#include <situ/runtime/detail/shared_objects.h>
#include <situ/runtime/detail/value_wires.h>

namespace situ {

// Whether values of T can be sent to another place.
template <class T>
concept travels = detail::can_travel<T>();

}  // namespace situ
