// Moves contributions between members along trees: broadcast, reductions and scans of small contributions. A
// contribution is one value, or the elements of a span. Part of collective.h.
//
// The operands of a combination are always runs of members with successive indices, the lower ones on the left. So an
// operation need be associative only.
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

// --- among some of the members, at positions 0 .. count-1; member_at(position) returns a member's index ---

// Broadcasts along a binomial tree: a member gets the value from its parent, whose position lacks the lowest set bit.
template <class Contribution, class MemberAt>
void broadcast_among(collective& group, Contribution& own, std::uint32_t count, std::uint32_t position,
                     MemberAt member_at, std::uint32_t step) {
  std::uint32_t bit = 1;
  for (; bit < count && (position & bit) == 0; bit <<= 1) {}
  if (position != 0) own.take(group, member_at(position - bit), step);
  for (bit >>= 1; bit != 0; bit >>= 1)
    if (position + bit < count) own.send(group, member_at(position + bit), step);
}

// Combines towards position 0 along a binomial tree. At the other positions `own` is left partially combined.
template <class Contribution, class Operation, class MemberAt>
void reduce_among(collective& group, Contribution& own, Operation& operation, std::uint32_t count,
                  std::uint32_t position, MemberAt member_at, std::uint32_t step) {
  for (std::uint32_t bit = 1; bit < count; bit <<= 1) {
    if ((position & bit) != 0) return own.send(group, member_at(position - bit), step);
    if (position + bit < count) own.combine_right(group, member_at(position + bit), step, operation);
  }
}

inline constexpr std::uint32_t all_reduce_steps = 32;  // a team has at most 2^15 members

// Does recursive doubling among 2^k of the members, each of which ends with the result. A member beyond 2^k combines
// with a neighbour before, and gets the result after.
template <class Contribution, class Operation, class MemberAt>
void all_reduce_among(collective& group, Contribution& own, Operation& operation, std::uint32_t count,
                      std::uint32_t position, MemberAt member_at, std::uint32_t first_step) {
  const std::uint32_t doubling = std::bit_floor(count);
  const std::uint32_t beyond = count - doubling;
  const std::uint32_t last_step = first_step + all_reduce_steps - 1;
  const bool is_paired = position < 2 * beyond;
  if (is_paired && position % 2 == 1) {
    own.send(group, member_at(position - 1), first_step);
    return own.take(group, member_at(position - 1), last_step);
  }
  if (is_paired) own.combine_right(group, member_at(position + 1), first_step, operation);
  const std::uint32_t rank = is_paired ? position / 2 : position - beyond;
  const auto ranked = [&](std::uint32_t r) { return member_at(r < beyond ? 2 * r : r + beyond); };
  std::uint32_t step = first_step + 1;
  for (std::uint32_t bit = 1; bit < doubling; bit <<= 1, ++step) {
    const std::uint32_t other = ranked(rank ^ bit);
    own.send(group, other, step);
    if ((rank & bit) == 0)
      own.combine_right(group, other, step, operation);
    else
      own.combine_left(group, other, step, operation);
  }
  if (is_paired) own.send(group, member_at(position + 1), last_step);
}

// Doubles, in each step, the run of members that a value covers.
template <class Contribution, class Operation, class MemberAt>
void inclusive_scan_among(collective& group, Contribution& own, Operation& operation, std::uint32_t count,
                          std::uint32_t position, MemberAt member_at, std::uint32_t first_step) {
  std::uint32_t step = first_step;
  for (std::uint32_t distance = 1; distance < count; distance <<= 1, ++step) {
    if (position + distance < count) own.send(group, member_at(position + distance), step);
    if (position >= distance) own.combine_left(group, member_at(position - distance), step, operation);
  }
}

// --- among all members: first within the runs, so that few parts cross between hosts; one run needs no more ---

// Broadcasts to the members of the caller's run, from the member of index `from`.
template <class Contribution>
void broadcast_in_run(collective& group, Contribution& own, std::uint32_t from, std::uint32_t step) {
  const member_run run = group.own_run();
  broadcast_among(
      group, own, run.size, (group.index() - run.first + run.size - (from - run.first)) % run.size,
      [&](std::uint32_t p) { return run.first + (p + from - run.first) % run.size; }, step);
}

template <class Contribution>
void broadcast_in(collective& group, Contribution& own, std::uint32_t root, std::uint32_t step) {
  const member_runs& runs = group.runs();
  const std::uint32_t root_run = runs.of(root);
  const auto leader_of = [&](std::uint32_t run) { return run == root_run ? root : runs.first_of(run); };
  const std::uint32_t own_run = runs.of(group.index());
  const std::uint32_t n = runs.count();
  if (n > 1 && group.index() == leader_of(own_run))
    broadcast_among(
        group, own, n, (own_run + n - root_run) % n, [&](std::uint32_t p) { return leader_of((p + root_run) % n); },
        step);
  broadcast_in_run(group, own, leader_of(own_run), step);
}

// Combines towards the first member of the caller's run.
template <class Contribution, class Operation>
void reduce_in_run(collective& group, Contribution& own, Operation& operation, std::uint32_t step) {
  const member_run run = group.own_run();
  reduce_among(
      group, own, operation, run.size, group.index() - run.first, [&](std::uint32_t p) { return run.first + p; }, step);
}

// Combines towards member 0, which sends the result to the root. At other members `own` is left partially combined.
template <class Contribution, class Operation>
void reduce_in(collective& group, Contribution& own, Operation& operation, std::uint32_t root) {
  const member_runs& runs = group.runs();
  const std::uint32_t index = group.index();
  reduce_in_run(group, own, operation, 0);
  if (index == group.own_run().first)
    reduce_among(
        group, own, operation, runs.count(), runs.of(index), [&](std::uint32_t run) { return runs.first_of(run); }, 0);
  if (root == 0) return;
  if (index == 0) own.send(group, root, 1);
  if (index == root) own.take(group, 0, 1);
}

template <class Contribution, class Operation>
void all_reduce_in(collective& group, Contribution& own, Operation& operation, std::uint32_t first_step = 0) {
  const member_runs& runs = group.runs();
  const std::uint32_t index = group.index();
  if (runs.count() == 1)
    return all_reduce_among(group, own, operation, group.size(), index, [](std::uint32_t p) { return p; }, first_step);
  reduce_in_run(group, own, operation, first_step);
  const std::uint32_t leader = group.own_run().first;
  if (index == leader)
    all_reduce_among(
        group, own, operation, runs.count(), runs.of(index), [&](std::uint32_t run) { return runs.first_of(run); },
        first_step);
  broadcast_in_run(group, own, leader, first_step + all_reduce_steps - 1);
}

inline constexpr std::uint32_t scan_steps = 64;

// If there are several runs, the last member of each combines all members up to it, and sends the result to the next
// run.
template <class Contribution, class Operation>
void inclusive_scan_in(collective& group, Contribution& own, Operation& operation, std::uint32_t first_step = 0) {
  const member_runs& runs = group.runs();
  const std::uint32_t index = group.index();
  const std::uint32_t among_runs = first_step + scan_steps / 2;
  const std::uint32_t to_run = first_step + scan_steps - 2;
  const member_run run = group.own_run();
  inclusive_scan_among(
      group, own, operation, run.size, index - run.first, [&](std::uint32_t p) { return run.first + p; }, first_step);
  if (runs.count() == 1) return;
  const std::uint32_t own_run = runs.of(index);
  if (index != runs.last_of(own_run)) {
    if (own_run != 0) own.combine_left(group, runs.last_of(own_run - 1), to_run, operation);
    return;
  }
  inclusive_scan_among(
      group, own, operation, runs.count(), own_run, [&](std::uint32_t r) { return runs.last_of(r); }, among_runs);
  if (own_run + 1 == runs.count()) return;
  for (std::uint32_t to = runs.first_of(own_run + 1); to < runs.last_of(own_run + 1); ++to) own.send(group, to, to_run);
}

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
