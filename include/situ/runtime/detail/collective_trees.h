// How contributions get from member to member along trees: broadcast, reductions and scans of what is small. A
// contribution is one value, or the elements of a span. Part of collective.h.
//
// What is combined are always runs of members with successive indices, the lower ones on the left. So an operation need
// be associative only.
#pragma once

#include <situ/runtime/detail/collective.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace situ::detail {

template <class T>
class one_value {
 public:
  explicit one_value(T&& value) : value_{std::move(value)} {}
  void send(collective& group, std::uint32_t to, std::uint32_t step) const { group.send(to, step, *value_); }
  void take(collective& group, std::uint32_t from, std::uint32_t step) {
    value_.emplace(group.template receive<T>(from, step));
  }
  template <class Operation>
  void combine_right(collective& group, std::uint32_t from, std::uint32_t step, Operation& operation) {
    T right = group.template receive<T>(from, step);
    T combined = operation(std::move(*value_), std::move(right));
    value_.emplace(std::move(combined));
  }
  template <class Operation>
  void combine_left(collective& group, std::uint32_t from, std::uint32_t step, Operation& operation) {
    T left = group.template receive<T>(from, step);
    T combined = operation(std::move(left), std::move(*value_));
    value_.emplace(std::move(combined));
  }
  void become(const T& value) { value_.emplace(value); }
  template <class Operation>
  void prepend(const T& identity, Operation& operation) {
    T combined = operation(T(identity), std::move(*value_));
    value_.emplace(std::move(combined));
  }
  [[nodiscard]] T get() { return std::move(*value_); }

 private:
  std::optional<T> value_;  // so that T need not be assignable
};

template <class T>
class element_values {
 public:
  explicit element_values(std::span<T> values) noexcept : values_{values} {}
  void send(collective& group, std::uint32_t to, std::uint32_t step) const { group.send_elements(to, step, values_); }
  void take(collective& group, std::uint32_t from, std::uint32_t step) { group.receive_elements(from, step, values_); }
  template <class Operation>
  void combine_right(collective& group, std::uint32_t from, std::uint32_t step, Operation& operation) {
    group.template receive_each<T>(from, step, values_.size(), [&](std::size_t i, T&& right) {
      T combined = operation(std::move(values_[i]), std::move(right));
      values_[i] = std::move(combined);
    });
  }
  template <class Operation>
  void combine_left(collective& group, std::uint32_t from, std::uint32_t step, Operation& operation) {
    group.template receive_each<T>(from, step, values_.size(), [&](std::size_t i, T&& left) {
      T combined = operation(std::move(left), std::move(values_[i]));
      values_[i] = std::move(combined);
    });
  }
  void become(const T& value) {
    for (T& each : values_) each = value;
  }
  template <class Operation>
  void prepend(const T& identity, Operation& operation) {
    for (T& each : values_) {
      T combined = operation(T(identity), std::move(each));
      each = std::move(combined);
    }
  }

 private:
  std::span<T> values_;
};

// Binomial tree: each member has the value once its parent, the member whose index lacks the lowest set bit, has sent
// it.
template <class Contribution>
void broadcast_in(collective& group, Contribution& own, std::uint32_t root, std::uint32_t step) {
  const std::uint32_t n = group.size();
  const std::uint32_t relative = (group.index() + n - root) % n;
  std::uint32_t bit = 1;
  for (; bit < n && (relative & bit) == 0; bit <<= 1) {}
  if (relative != 0) own.take(group, (relative - bit + root) % n, step);
  for (bit >>= 1; bit != 0; bit >>= 1)
    if (relative + bit < n) own.send(group, (relative + bit + root) % n, step);
}

// Combines towards member 0 along a binomial tree, and hands the result to the root. Elsewhere `own` is what was
// combined so far.
template <class Contribution, class Operation>
void reduce_in(collective& group, Contribution& own, Operation& operation, std::uint32_t root) {
  const std::uint32_t index = group.index();
  for (std::uint32_t bit = 1; bit < group.size(); bit <<= 1) {
    if ((index & bit) != 0) {
      own.send(group, index - bit, 0);
      break;
    }
    if (index + bit < group.size()) own.combine_right(group, index + bit, 0, operation);
  }
  if (root == 0) return;
  if (index == 0) own.send(group, root, 1);
  if (index == root) own.take(group, 0, 1);
}

inline constexpr std::uint32_t all_reduce_steps = 32;  // a team has at most 2^15 members

// Recursive doubling among 2^k members, each of which ends with the result. Those beyond 2^k combine with a neighbour
// before, and get the result after.
template <class Contribution, class Operation>
void all_reduce_in(collective& group, Contribution& own, Operation& operation, std::uint32_t first_step = 0) {
  const std::uint32_t index = group.index();
  const std::uint32_t doubling = std::bit_floor(group.size());
  const std::uint32_t beyond = group.size() - doubling;
  const std::uint32_t last_step = first_step + all_reduce_steps - 1;
  const bool is_paired = index < 2 * beyond;
  if (is_paired && index % 2 == 1) {
    own.send(group, index - 1, first_step);
    return own.take(group, index - 1, last_step);
  }
  if (is_paired) own.combine_right(group, index + 1, first_step, operation);
  const std::uint32_t position = is_paired ? index / 2 : index - beyond;
  const auto member_at = [beyond](std::uint32_t p) { return p < beyond ? 2 * p : p + beyond; };
  std::uint32_t step = first_step + 1;
  for (std::uint32_t bit = 1; bit < doubling; bit <<= 1, ++step) {
    const std::uint32_t other = member_at(position ^ bit);
    own.send(group, other, step);
    if ((position & bit) == 0)
      own.combine_right(group, other, step, operation);
    else
      own.combine_left(group, other, step, operation);
  }
  if (is_paired) own.send(group, index + 1, last_step);
}

// Each step doubles the run of members that a value covers.
template <class Contribution, class Operation>
void inclusive_scan_in(collective& group, Contribution& own, Operation& operation, std::uint32_t first_step = 0) {
  std::uint32_t step = first_step;
  for (std::uint32_t distance = 1; distance < group.size(); distance <<= 1, ++step) {
    if (group.index() + distance < group.size()) own.send(group, group.index() + distance, step);
    if (group.index() >= distance) own.combine_left(group, group.index() - distance, step, operation);
  }
}

inline constexpr std::uint32_t scan_steps = 32;

template <class Contribution, class T, class Operation>
void exclusive_scan_in(collective& group, Contribution& own, const T& identity, Operation& operation,
                       std::uint32_t first_step = 0) {
  inclusive_scan_in(group, own, operation, first_step);
  const std::uint32_t last_step = first_step + scan_steps - 1;
  if (group.index() + 1 < group.size()) own.send(group, group.index() + 1, last_step);
  if (group.index() == 0) return own.become(identity);
  own.take(group, group.index() - 1, last_step);
  own.prepend(identity, operation);
}

}  // namespace situ::detail
