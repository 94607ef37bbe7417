// A queue in a ring that doubles when it is full: what the model adds and removes for each access of a core that goes on
// past a miss, in a few instructions (a std::deque takes some twenty).
//
// Not thread-safe. cost: constant; amortised for push_back.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ::model {

template <class T>
class ring_queue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit ring_queue(std::size_t room = 16) : ring_(std::bit_ceil(room)) {}

  [[nodiscard]] bool empty() const noexcept { return first_ == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - first_; }
  // The i-th element from the front. pre: i < size().
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return ring_[(first_ + i) & (ring_.size() - 1)]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return ring_[(first_ + i) & (ring_.size() - 1)]; }
  [[nodiscard]] T& front() noexcept { return (*this)[0]; }
  [[nodiscard]] const T& front() const noexcept { return (*this)[0]; }
  void pop_front() noexcept { ++first_; }
  void push_back(const T& one) {
    if (size() == ring_.size()) [[unlikely]]
      grow();
    ring_[end_++ & (ring_.size() - 1)] = one;
  }
  // Adds an element behind those that are not after it by `before(a, b)`. cost: linear in the elements that are.
  template <class Before>
  void insert(const T& one, Before&& before) {
    push_back(one);
    for (std::size_t i = size() - 1; i > 0 && before((*this)[i], (*this)[i - 1]); --i)
      std::swap((*this)[i], (*this)[i - 1]);
  }
  void clear() noexcept { first_ = end_; }

 private:
  [[gnu::noinline]] void grow() {
    std::vector<T> larger(2 * ring_.size());
    for (std::size_t i = 0; i < ring_.size(); ++i) larger[i] = (*this)[i];
    end_ = size();
    first_ = 0;
    ring_ = std::move(larger);
  }

  std::vector<T> ring_;  // a power of two of elements
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace situ::model
