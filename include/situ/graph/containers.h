// Containers that can be part of an object graph: situ::array<T> (fixed length), situ::vector<T> (grows), situ::string;
// and situ::transient<T>.
//
// Elements are data, pointers to described types, or described objects. Each container is three words, the array
// descriptor of NEMESYS:
//
//   | address of the elements | number of elements | capacity in bytes, and two flags |
//
// A container owns its elements. They are stored in the place's segment (outside a runtime: on the heap), so that
// another place can fetch them. In a copy of a graph the elements are stored in the graph's arena; a container that
// grows there moves its elements to a store of its own, which is freed with the arena. Not thread-safe. Interfaces as
// in std.
//
// Errors: functions that allocate throw out_of_memory; at() throws bad_argument. cost: as in std: constant, or linear
// in the elements that are constructed, moved or destroyed; a container that grows doubles its capacity, a string of
// more than 1 MiB adds 1 MiB.
#pragma once

#include <situ/memory/allocate.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace situ {
namespace detail {

[[noreturn]] void throw_out_of_range(std::size_t index, std::size_t size);

// The three words of a container. `capacity` is in bytes, with the flags in its upper bits.
struct array_descriptor {
  static constexpr std::uint64_t in_segment = std::uint64_t{1} << 63;
  static constexpr std::uint64_t in_arena = std::uint64_t{1} << 62;  // the arena owns the elements
  static constexpr std::uint64_t capacity_mask = in_arena - 1;

  std::byte* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t capacity = 0;

  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity & capacity_mask; }
};

// Allocates `bytes` aligned to `alignment`, and sets data and capacity. Throws out_of_memory.
void allocate_store(array_descriptor& array, std::size_t bytes, std::size_t alignment);
// Frees the elements' bytes, unless an arena owns them, and empties the descriptor.
void free_store(array_descriptor& array) noexcept;

// The common base of array and vector.
template <class T>
class array_base {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  [[nodiscard]] std::size_t size() const noexcept { return raw_.count; }
  [[nodiscard]] bool empty() const noexcept { return raw_.count == 0; }
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(raw_.data); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(raw_.data); }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  // Throws bad_argument if i >= size().
  [[nodiscard]] T& at(std::size_t i) {
    if (i >= size()) throw_out_of_range(i, size());
    return data()[i];
  }
  [[nodiscard]] const T& at(std::size_t i) const { return const_cast<array_base*>(this)->at(i); }
  [[nodiscard]] T& front() noexcept { return data()[0]; }
  [[nodiscard]] const T& front() const noexcept { return data()[0]; }
  [[nodiscard]] T& back() noexcept { return data()[size() - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data()[size() - 1]; }
  [[nodiscard]] operator std::span<T>() noexcept { return {data(), size()}; }
  [[nodiscard]] operator std::span<const T>() const noexcept { return {data(), size()}; }

  friend bool operator==(const array_base& a, const array_base& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const array_base& a, const array_base& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 protected:
  array_base() noexcept = default;
  array_base(array_base&& other) noexcept : raw_{std::exchange(other.raw_, {})} {}
  ~array_base() { discard(); }
  void swap(array_base& other) noexcept { std::swap(raw_, other.raw_); }

  [[nodiscard]] std::size_t capacity_elements() const noexcept { return raw_.capacity_bytes() / sizeof(T); }
  // Allocates a store for `n` elements and moves the present elements to it.
  void move_to_store_of(std::size_t n) {
    array_descriptor larger;
    allocate_store(larger, bytes_for(n, sizeof(T)), alignof(T));
    T* const to = reinterpret_cast<T*>(larger.data);
    std::uninitialized_move(begin(), end(), to);
    std::destroy(begin(), end());
    larger.count = raw_.count;
    free_store(raw_);
    raw_ = larger;
  }
  template <class Iterator>
  void append_copies(Iterator first, std::size_t n) {
    std::uninitialized_copy_n(first, n, end());
    raw_.count += n;
  }
  void discard() noexcept {
    if (raw_.data == nullptr) return;
    std::destroy(begin(), end());
    free_store(raw_);
  }
  array_descriptor raw_;
};

}  // namespace detail

// An array whose length is set by its constructor. Has size, empty, data, begin, end, operator[], at, front and back,
// is compared element by element, and converts to a std::span.
template <class T>
class array : public detail::array_base<T> {
 public:
  array() noexcept = default;
  // Makes n value-initialised elements.
  explicit array(std::size_t n) {
    if (n == 0) return;
    this->move_to_store_of(n);
    std::uninitialized_value_construct_n(this->data(), n);
    this->raw_.count = n;
  }
  explicit array(std::span<const T> values) {
    if (values.empty()) return;
    this->move_to_store_of(values.size());
    this->append_copies(values.begin(), values.size());
  }
  array(std::initializer_list<T> values) : array(std::span<const T>{values.begin(), values.size()}) {}
  array(const array& other) : array(std::span<const T>{other}) {}
  array(array&&) noexcept = default;
  array& operator=(array other) noexcept {
    this->swap(other);
    return *this;
  }
};

// A sequence that grows. Growth moves the elements and invalidates pointers to them. Also has everything that array
// has.
template <class T>
class vector : public detail::array_base<T> {
 public:
  vector() noexcept = default;
  explicit vector(std::size_t n) { resize(n); }
  vector(std::size_t n, const T& value) {
    reserve(n);
    std::uninitialized_fill_n(this->end(), n, value);
    this->raw_.count = n;
  }
  explicit vector(std::span<const T> values) {
    reserve(values.size());
    this->append_copies(values.begin(), values.size());
  }
  vector(std::initializer_list<T> values) : vector(std::span<const T>{values.begin(), values.size()}) {}
  template <std::forward_iterator Iterator>
  vector(Iterator first, Iterator last) {
    const auto n = static_cast<std::size_t>(std::distance(first, last));
    reserve(n);
    this->append_copies(first, n);
  }
  vector(const vector& other) : vector(std::span<const T>{other}) {}
  vector(vector&&) noexcept = default;
  vector& operator=(vector other) noexcept {
    this->swap(other);
    return *this;
  }

  // Returns the number of elements that fit without another allocation.
  [[nodiscard]] std::size_t capacity() const noexcept { return this->capacity_elements(); }
  // Allocates, if needed, so that n elements fit.
  void reserve(std::size_t n) {
    if (n > capacity()) this->move_to_store_of(n);
  }
  // Adds an element at the end, constructed from the arguments. The arguments may be elements of this vector.
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (this->raw_.count == capacity()) {
      T value(std::forward<Arguments>(arguments)...);  // first: the arguments may be elements
      this->move_to_store_of(std::max<std::size_t>(4, 2 * capacity()));
      std::construct_at(this->end(), std::move(value));
    } else {
      std::construct_at(this->end(), std::forward<Arguments>(arguments)...);
    }
    ++this->raw_.count;
    return this->back();
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  // Removes the last element. pre: !empty().
  void pop_back() noexcept {
    std::destroy_at(&this->back());
    --this->raw_.count;
  }
  // Removes all elements; the capacity stays.
  void clear() noexcept {
    std::destroy(this->begin(), this->end());
    this->raw_.count = 0;
  }
  // Removes from the end, or adds value-initialised elements, until there are n.
  void resize(std::size_t n) {
    if (n > this->size()) {
      if (n > capacity()) this->move_to_store_of(std::max(n, 2 * capacity()));
      std::uninitialized_value_construct(this->end(), this->data() + n);
    } else {
      std::destroy(this->data() + n, this->end());
    }
    this->raw_.count = n;
  }
  // Adds copies of these elements. pre: the range is not part of this vector.
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace_back(*first);
  }
  // Removes elements and moves the ones after them up. Returns a pointer to the element after the removed ones.
  T* erase(T* first, T* last) {
    T* const kept = std::move(last, this->end(), first);
    std::destroy(kept, this->end());
    this->raw_.count = static_cast<std::uint64_t>(kept - this->begin());
    return first;
  }
  T* erase(T* at) { return erase(at, at + 1); }
  // Inserts an element before `at` and moves the ones after it. Returns a pointer to the new element.
  T* insert(T* at, T value) {
    const std::ptrdiff_t index = at - this->begin();
    emplace_back(std::move(value));
    std::rotate(this->begin() + index, this->end() - 1, this->end());
    return this->begin() + index;
  }
};

// Zero-terminated text. Compares as a std::string_view and converts to one.
class string {
 public:
  string() noexcept = default;
  string(std::string_view text) { assign(text); }  // NOLINT: as std::string does for literals
  string(const char* text) : string(std::string_view{text}) {}
  string(const std::string& text) : string(std::string_view{text}) {}
  string(const string& other) : string(other.view()) {}
  string(string&& other) noexcept : raw_{std::exchange(other.raw_, {})} {}
  string& operator=(string other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~string() { detail::free_store(raw_); }

  // Returns the number of characters, without the terminating zero.
  [[nodiscard]] std::size_t size() const noexcept { return raw_.count; }
  [[nodiscard]] bool empty() const noexcept { return raw_.count == 0; }
  // Returns the characters; null if the string has never allocated.
  [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(raw_.data); }
  [[nodiscard]] const char* data() const noexcept { return reinterpret_cast<const char*>(raw_.data); }
  // Returns the characters with a terminating zero; never null.
  [[nodiscard]] const char* c_str() const noexcept { return raw_.count == 0 ? "" : data(); }
  // Returns the characters; the view is valid until the string changes.
  [[nodiscard]] std::string_view view() const noexcept { return {c_str(), size()}; }
  [[nodiscard]] operator std::string_view() const noexcept { return view(); }
  [[nodiscard]] char operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] char& operator[](std::size_t i) noexcept { return data()[i]; }
  // Removes all characters; the capacity stays.
  void clear() noexcept {
    raw_.count = 0;
    if (raw_.data != nullptr) *raw_.data = std::byte{0};
  }
  // Appends text, which may be part of this string.
  string& append(std::string_view text);
  string& operator+=(std::string_view text) { return append(text); }
  // Appends a character.
  void push_back(char c) { append({&c, 1}); }

  friend bool operator==(const string& a, const string& b) noexcept { return a.view() == b.view(); }
  friend auto operator<=>(const string& a, const string& b) noexcept { return a.view() <=> b.view(); }
  friend bool operator==(const string& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const string& a, const char* b) noexcept { return a.view() == b; }
  friend bool operator==(const string& a, const std::string& b) noexcept { return a.view() == b; }

 private:
  void assign(std::string_view text) {
    if (!text.empty()) append(text);
  }
  detail::array_descriptor raw_;
};

// A value that is not copied, such as a cache. In the copy all its bytes are zero.
template <class T>
struct alignas(8) transient {
  static_assert(std::is_trivially_copyable_v<T>,
                "situ::transient<T>: the copy starts with zero bytes, so T must be trivially copyable (a pointer, a "
                "number, a plain struct)");
  T value{};

  transient() noexcept = default;
  transient(const T& v) noexcept : value{v} {}
  transient& operator=(const T& v) noexcept {
    value = v;
    return *this;
  }
  [[nodiscard]] operator T&() noexcept { return value; }
  [[nodiscard]] operator const T&() const noexcept { return value; }
  [[nodiscard]] T operator->() const noexcept
    requires std::is_pointer_v<T>
  {
    return value;
  }
};

}  // namespace situ

template <>
struct std::hash<situ::string> {
  std::size_t operator()(const situ::string& text) const noexcept { return std::hash<std::string_view>{}(text.view()); }
};
