// Collectives in which members collect each other's values. Part of collective.h.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/runtime/detail/collective_trees.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace situ::detail {

// Returns the values of the caller's run at its member `to`; at other members an empty vector.
template <class T>
std::vector<T> gather_in_run(collective& group, T value, std::uint32_t to, std::uint32_t step) {
  std::vector<T> values;
  if (group.index() != to) {
    group.send(to, step, value);
    return values;
  }
  const member_run run = group.own_run();
  values.reserve(run.size);
  for (std::uint32_t from = run.first; from < to; ++from) values.push_back(group.template receive<T>(from, step));
  values.push_back(std::move(value));
  for (std::uint32_t from = to + 1; from < run.first + run.size; ++from)
    values.push_back(group.template receive<T>(from, step));
  return values;
}

template <class T>
void append(std::vector<T>& all, std::vector<T>&& more) {
  for (auto&& each : more) all.push_back(std::move(each));
}

// Gathers at the root. Each run without the root sends its values to the root in one part.
template <class T>
std::vector<T> gather_in(collective& group, T value, std::uint32_t root) {
  const member_runs& runs = group.runs();
  const std::uint32_t own_run = runs.of(group.index());
  const std::uint32_t leader = own_run == runs.of(root) ? root : runs.first_of(own_run);
  std::vector<T> values = gather_in_run(group, std::move(value), leader, 0);
  if (group.index() != leader) return values;
  if (group.index() != root) {
    group.send(root, 1, values);
    return {};
  }
  if (runs.count() == 1) return values;
  std::vector<T> all;
  all.reserve(group.size());
  for (std::uint32_t run = 0; run < runs.count(); ++run)  // it moves once: NOLINTNEXTLINE(bugprone-use-after-move)
    append(all, run == own_run ? std::move(values) : group.template receive<std::vector<T>>(runs.first_of(run), 1));
  return all;
}

// Scatters from the root. Each run without the root gets its values in one part.
template <class T>
T scatter_in(collective& group, std::vector<T> values, std::uint32_t root) {
  const member_runs& runs = group.runs();
  const std::uint32_t root_run = runs.of(root);
  const member_run own_run = group.own_run();
  const std::uint32_t leader = runs.of(group.index()) == root_run ? root : own_run.first;
  if (group.index() != leader) return group.template receive<T>(leader, 0);
  if (group.index() == root) {
    SITU_ASSERT(1, values.size() == group.size(),
                "scatter takes, at its root, one element for each member of the team");
    for (std::uint32_t run = 0; run < runs.count(); ++run)
      if (run != root_run)
        group.send(runs.first_of(run), 1,
                   std::vector<T>(values.begin() + runs.first_of(run), values.begin() + runs.last_of(run) + 1));
  } else {
    values = group.template receive<std::vector<T>>(root, 1);
  }
  const std::uint32_t begin = group.index() == root ? own_run.first : 0;  // the begin of the run's values
  const std::uint32_t own = group.index() - own_run.first;
  for (std::uint32_t i = 1; i < own_run.size; ++i) {
    const std::uint32_t to = (own + i) % own_run.size;
    group.send(own_run.first + to, 0, static_cast<const T&>(values[begin + to]));
  }
  return std::move(values[begin + own]);
}

// Gathers by dissemination among some of the members (collective_trees.h): after step k each has the values of 2^k of
// them, its own and those that follow (Bruck et al., "Efficient algorithms for all-to-all communications", 1997).
template <class T, class MemberAt>
std::vector<T> all_gather_among(collective& group, T value, std::uint32_t n, std::uint32_t position,
                                MemberAt member_at) {
  std::vector<T> values;
  values.reserve(n);
  values.push_back(std::move(value));
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < n; distance <<= 1, ++step) {
    const std::uint32_t count = std::min(distance, n - distance);
    const std::uint32_t to = member_at((position + n - distance) % n);
    if (count == distance) {
      group.send(to, step, values);
    } else {
      group.send(to, step, std::vector<T>(values.begin(), values.begin() + count));
    }
    append(values, group.template receive<std::vector<T>>(member_at((position + distance) % n), step));
  }
  std::rotate(values.begin(), values.begin() + (n - position), values.end());
  return values;
}

template <class T>
std::vector<T> all_gather_in(collective& group, T value) {
  constexpr std::uint32_t run_step = 64;  // above the steps of the dissemination
  const member_runs& runs = group.runs();
  const std::uint32_t index = group.index();
  if (runs.count() == 1)
    return all_gather_among(group, std::move(value), group.size(), index, [](std::uint32_t p) { return p; });
  const std::uint32_t leader = group.own_run().first;
  std::vector<T> of_run = gather_in_run(group, std::move(value), leader, run_step);
  std::vector<T> all;
  if (index == leader) {
    all.reserve(group.size());
    for (std::vector<T>& each : all_gather_among(group, std::move(of_run), runs.count(), runs.of(index),
                                                 [&](std::uint32_t run) { return runs.first_of(run); }))
      append(all, std::move(each));
  }
  one_value<std::vector<T>> whole{std::move(all)};
  broadcast_in_run(group, whole, leader, run_step + 1);
  return whole.get();
}

template <class T>
std::vector<T> all_to_all_in(collective& group, std::vector<T> values) {
  const std::uint32_t n = group.size();
  for (std::uint32_t i = 1; i < n; ++i) {  // from the neighbour on, so that no member is the first target of all
    const std::uint32_t to = (group.index() + i) % n;
    group.send(to, 0, static_cast<const T&>(values[to]));
  }
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t from = (group.index() + n - i) % n;
    values[from] = group.template receive<T>(from, 0);
  }
  return values;
}

// Exchanges values with neighbours. Values for this member itself are taken from `values` in order.
template <class T>
std::vector<T> neighbour_exchange_in(collective& group, std::span<const std::uint32_t> to, std::vector<T> values,
                                     std::span<const std::uint32_t> from) {
  const std::uint32_t index = group.index();
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != index) group.send(to[i], 0, static_cast<const T&>(values[i]));
  std::vector<T> received;
  received.reserve(from.size());
  auto next_own = to.begin();
  for (const std::uint32_t source : from) {
    if (source != index) {
      received.push_back(group.template receive<T>(source, 0));
      continue;
    }
    next_own = std::find(next_own, to.end(), index);
    received.push_back(std::move(values[static_cast<std::size_t>(next_own++ - to.begin())]));
  }
  return received;
}

template <class Messages>
using message_value = typename Messages::value_type::second_type;

// Replaces each count by the sum of all members' counts at its index. pre: counts.size() is the number of members.
void add_up_counts(collective& group, std::vector<std::uint64_t>& counts);

// Sends the messages at once; a sum of their counts, by target, tells each member how many messages to await.
template <class Messages, class T = message_value<Messages>>
std::vector<std::pair<std::uint32_t, T>> sparse_exchange_in(collective& group, Messages messages) {
  const std::uint32_t index = group.index();
  std::vector<std::uint64_t> counts(group.size());
  for (const auto& [to, value] : messages) {
    if (to == index) continue;
    group.send(to, 0, static_cast<const T&>(value));
    ++counts[to];
  }
  add_up_counts(group, counts);
  const std::uint64_t expected = counts[index];
  group.await_parts(collective::any_member, 0, expected);

  std::vector<std::pair<std::uint32_t, T>> received;
  received.reserve(expected);
  bool has_own = false;
  const auto take_own = [&] {
    for (auto& [to, value] : messages)
      if (to == index) received.emplace_back(index, std::move(value));
    has_own = true;
  };
  for (std::uint64_t i = 0; i < expected; ++i) {
    const arrived_part part = group.take_part(collective::any_member, 0);
    if (!has_own && part.source > index) take_own();
    received.emplace_back(part.source, collective::read<T>(part));
  }
  if (!has_own) take_own();
  return received;
}

// --- with their number: the returned function does the rest, now or in a task ---

template <class T>
auto begin_broadcast(T value, std::uint32_t root, const team& members, const std::source_location& where) {
  check_value<T>();
  check_root(members, root);
  return begin_collective(members, collective_of<T>(collective_kind::broadcast, root), where,
                          [own = one_value<T>{std::move(value)}, root](collective& group) mutable {
                            broadcast_in(group, own, root, 0);
                            return own.get();
                          });
}

template <class T, class Operation>
auto begin_reduce(T value, Operation operation, std::uint32_t root, const team& members,
                  const std::source_location& where) {
  check_value<T>();
  check_root(members, root);
  return begin_collective(
      members, collective_of<T>(collective_kind::reduce, root), where,
      [own = one_value<T>{std::move(value)}, operation = std::move(operation), root](collective& group) mutable {
        reduce_in(group, own, operation, root);
        return own.get();
      });
}

template <class T, class Operation>
auto begin_all_reduce(T value, Operation operation, const team& members, const std::source_location& where) {
  check_value<T>();
  return begin_collective(
      members, collective_of<T>(collective_kind::all_reduce), where,
      [own = one_value<T>{std::move(value)}, operation = std::move(operation)](collective& group) mutable {
        all_reduce_in(group, own, operation);
        return own.get();
      });
}

template <class T, class Operation>
auto begin_inclusive_scan(T value, Operation operation, const team& members, const std::source_location& where) {
  check_value<T>();
  return begin_collective(
      members, collective_of<T>(collective_kind::inclusive_scan), where,
      [own = one_value<T>{std::move(value)}, operation = std::move(operation)](collective& group) mutable {
        inclusive_scan_in(group, own, operation);
        return own.get();
      });
}

template <class T, class Operation>
auto begin_exclusive_scan(T value, Operation operation, T identity, const team& members,
                          const std::source_location& where) {
  check_value<T>();
  return begin_collective(members, collective_of<T>(collective_kind::exclusive_scan), where,
                          [own = one_value<T>{std::move(value)}, operation = std::move(operation),
                           identity = std::move(identity)](collective& group) mutable {
                            exclusive_scan_in(group, own, identity, operation);
                            return own.get();
                          });
}

template <class T>
auto begin_gather(T value, std::uint32_t root, const team& members, const std::source_location& where) {
  check_value<T>();
  check_root(members, root);
  return begin_collective(
      members, collective_of<T>(collective_kind::gather, root), where,
      [value = std::move(value), root](collective& group) mutable { return gather_in(group, std::move(value), root); });
}

template <class T>
auto begin_scatter(std::vector<T> values, std::uint32_t root, const team& members, const std::source_location& where) {
  check_value<T>();
  check_root(members, root);
  return begin_collective(members, collective_of<T>(collective_kind::scatter, root), where,
                          [values = std::move(values), root](collective& group) mutable {
                            return scatter_in(group, std::move(values), root);
                          });
}

template <class T>
auto begin_all_gather(T value, const team& members, const std::source_location& where) {
  check_value<T>();
  return begin_collective(
      members, collective_of<T>(collective_kind::all_gather), where,
      [value = std::move(value)](collective& group) mutable { return all_gather_in(group, std::move(value)); });
}

template <class T>
auto begin_all_to_all(std::vector<T> values, const team& members, const std::source_location& where) {
  check_value<T>();
  SITU_ASSERT(1, values.size() == members.size(),
              "all_to_all and exchange take one element for each member of the team");
  return begin_collective(
      members, collective_of<T>(collective_kind::all_to_all), where,
      [values = std::move(values)](collective& group) mutable { return all_to_all_in(group, std::move(values)); });
}

// True if each index is a member, and this member sends itself as many values as it takes from itself.
inline bool are_neighbours(std::span<const std::uint32_t> to, std::span<const std::uint32_t> from,
                           const team& members) {
  const auto is_member = [&](std::uint32_t i) { return i < members.size(); };
  return std::all_of(to.begin(), to.end(), is_member) && std::all_of(from.begin(), from.end(), is_member) &&
         std::count(to.begin(), to.end(), members.index()) == std::count(from.begin(), from.end(), members.index());
}

template <class T>
auto begin_neighbour_exchange(std::span<const std::uint32_t> to, std::vector<T> values,
                              std::span<const std::uint32_t> from, const team& members,
                              const std::source_location& where) {
  check_value<T>();
  SITU_ASSERT(1, to.size() == values.size(), "neighbour_exchange takes one value for each neighbour that it sends to");
  SITU_ASSERT(1, are_neighbours(to, from, members),
              "the neighbours of neighbour_exchange are indices within its team, less than team.size(); a member that "
              "sends to itself takes as many values from itself");
  return begin_collective(members, collective_of<T>(collective_kind::neighbour_exchange), where,
                          [to = std::vector(to.begin(), to.end()), values = std::move(values),
                           from = std::vector(from.begin(), from.end())](collective& group) mutable {
                            return neighbour_exchange_in<T>(group, to, std::move(values), from);
                          });
}

template <class Messages>
auto begin_sparse_exchange(Messages messages, const team& members, const std::source_location& where) {
  check_value<message_value<Messages>>();
  for ([[maybe_unused]] const auto& [to, value] : messages)
    SITU_ASSERT(1, to < members.size(), "a message of sparse_exchange goes to an index within its team");
  return begin_collective(members, collective_of<message_value<Messages>>(collective_kind::sparse_exchange), where,
                          [messages = std::move(messages)](collective& group) mutable {
                            return sparse_exchange_in(group, std::move(messages));
                          });
}

}  // namespace situ::detail
