// A list of plain values. A push within the capacity calls no function, so a function that only pushes saves no
// registers; a std::vector's push may call its growth in the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <class T>
class plain_list {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] bool empty() const noexcept { return begin() == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin()); }
  [[nodiscard]] bool is_full() const noexcept { return end_ == limit_; }
  [[nodiscard]] T* begin() const noexcept { return all_.get(); }
  [[nodiscard]] T* end() const noexcept { return end_; }
  [[nodiscard]] T& front() const noexcept { return *begin(); }
  [[nodiscard]] T& back() const noexcept { return end_[-1]; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return begin()[i]; }

  void push_back(const T& value) {
    if (is_full()) [[unlikely]]
      make_room();
    *end_++ = value;
  }
  [[gnu::cold, gnu::noinline]] void make_room() {
    const std::size_t count = size(), room = std::max<std::size_t>(2 * count, 16);
    auto more = std::make_unique_for_overwrite<T[]>(room);
    std::copy_n(begin(), count, more.get());
    all_ = std::move(more);
    end_ = begin() + count;
    limit_ = begin() + room;
  }

  // pre: !is_full()
  void push_within(const T& value) noexcept { *end_++ = value; }
  void pop_back() noexcept { --end_; }
  void clear() noexcept { end_ = begin(); }

 private:
  std::unique_ptr<T[]> all_;
  T* end_ = nullptr;
  T* limit_ = nullptr;
};

}  // namespace situ::detail
