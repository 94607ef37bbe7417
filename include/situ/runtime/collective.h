// Collectives: every member of a team calls the same one, in the same order. Values are of any type that travels
// (serialize.h), operations of any type that can be called with two values. collective_spans.h has the collectives of
// many elements at once.
//
//   double all = situ::all_reduce(mine, std::plus<>{});
//   situ::future<double> later = situ::all_reduce_async(mine, std::plus<>{});   // work goes on; later.get()
//
// Each collective has a form that does not wait, with `_async` at the end of its name: it takes its number among the
// team's collectives when it is called, and returns the future of the result. Any number of asynchronous collectives
// may be under way at once. They advance, as tasks, whenever their place waits or calls progress().
//
// Reductions combine in the order of the members' indices, so an operation need be associative only, and the same
// values give the same bits on every run and at every member. Errors: place_lost_error if a member is lost, or while
// any place is lost (docs/guide/collectives.md); bad_argument if another member's call differs (another collective,
// root or size). A place that waits in a collective goes on with messages and tasks. cost: with n members, log2(n)
// message latencies for broadcast, reductions, scans and all_gather; n - 1 messages a member for all_to_all and
// exchange, and at the root of gather and scatter. An asynchronous form costs a task in addition.
#pragma once

#include <situ/runtime/detail/collective_values.h>
#include <situ/runtime/future.h>
#include <situ/runtime/team.h>

#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

// Returns the root's value, at every member.
template <class T>
[[nodiscard]] T broadcast(T value, std::uint32_t root = 0, const team& members = world(),
                          std::source_location where = std::source_location::current()) {
  return detail::begin_broadcast(std::move(value), root, members, where)();
}
template <class T>
[[nodiscard]] future<T> broadcast_async(T value, std::uint32_t root = 0, const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_broadcast(std::move(value), root, members, where); });
}

// Returns operation(...) over all members' values at the root; at the other members the result is unspecified.
template <class T, class Operation>
T reduce(T value, Operation operation, std::uint32_t root = 0, const team& members = world(),
         std::source_location where = std::source_location::current()) {
  return detail::begin_reduce(std::move(value), std::move(operation), root, members, where)();
}
template <class T, class Operation>
[[nodiscard]] future<T> reduce_async(T value, Operation operation, std::uint32_t root = 0,
                                     const team& members = world(),
                                     std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_reduce(std::move(value), std::move(operation), root, members, where); });
}

// Returns operation(...) over all members' values, at every member.
template <class T, class Operation>
[[nodiscard]] T all_reduce(T value, Operation operation, const team& members = world(),
                           std::source_location where = std::source_location::current()) {
  return detail::begin_all_reduce(std::move(value), std::move(operation), members, where)();
}
template <class T, class Operation>
[[nodiscard]] future<T> all_reduce_async(T value, Operation operation, const team& members = world(),
                                         std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_all_reduce(std::move(value), std::move(operation), members, where); });
}

// Returns, at member i, operation(...) over the values of members 0 .. i.
template <class T, class Operation>
[[nodiscard]] T inclusive_scan(T value, Operation operation, const team& members = world(),
                               std::source_location where = std::source_location::current()) {
  return detail::begin_inclusive_scan(std::move(value), std::move(operation), members, where)();
}
template <class T, class Operation>
[[nodiscard]] future<T> inclusive_scan_async(T value, Operation operation, const team& members = world(),
                                             std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_inclusive_scan(std::move(value), std::move(operation), members, where); });
}

// Returns, at member i, operation(...) over `identity` and the values of members 0 .. i-1.
template <class T, class Operation>
[[nodiscard]] T exclusive_scan(T value, Operation operation, std::type_identity_t<T> identity,
                               const team& members = world(),
                               std::source_location where = std::source_location::current()) {
  return detail::begin_exclusive_scan<T>(std::move(value), std::move(operation), std::move(identity), members, where)();
}
template <class T, class Operation>
[[nodiscard]] future<T> exclusive_scan_async(T value, Operation operation, std::type_identity_t<T> identity,
                                             const team& members = world(),
                                             std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] {
    return detail::begin_exclusive_scan<T>(std::move(value), std::move(operation), std::move(identity), members, where);
  });
}

// Returns all values by member index at the root, and an empty vector at the other members.
template <class T>
[[nodiscard]] std::vector<T> gather(T value, std::uint32_t root = 0, const team& members = world(),
                                    std::source_location where = std::source_location::current()) {
  return detail::begin_gather(std::move(value), root, members, where)();
}
template <class T>
[[nodiscard]] future<std::vector<T>> gather_async(T value, std::uint32_t root = 0, const team& members = world(),
                                                  std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_gather(std::move(value), root, members, where); });
}

// Returns, at member i, the root's values[i]. The other members' `values` are ignored. pre: values.size() ==
// members.size(), at the root.
template <class T>
[[nodiscard]] T scatter(std::vector<T> values, std::uint32_t root = 0, const team& members = world(),
                        std::source_location where = std::source_location::current()) {
  return detail::begin_scatter(std::move(values), root, members, where)();
}
template <class T>
[[nodiscard]] future<T> scatter_async(std::vector<T> values, std::uint32_t root = 0, const team& members = world(),
                                      std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_scatter(std::move(values), root, members, where); });
}

// Returns all values by member index, at every member.
template <class T>
[[nodiscard]] std::vector<T> all_gather(T value, const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::begin_all_gather(std::move(value), members, where)();
}
template <class T>
[[nodiscard]] future<std::vector<T>> all_gather_async(T value, const team& members = world(),
                                                      std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_all_gather(std::move(value), members, where); });
}

// Sends values[j] to member j; element i of the result came from member i. pre: values.size() == members.size().
template <class T>
[[nodiscard]] std::vector<T> all_to_all(std::vector<T> values, const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::begin_all_to_all(std::move(values), members, where)();
}
template <class T>
[[nodiscard]] future<std::vector<T>> all_to_all_async(std::vector<T> values, const team& members = world(),
                                                      std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_all_to_all(std::move(values), members, where); });
}

// Does an all_to_all in which each member sends any number of elements to each member.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> exchange(std::vector<std::vector<T>> values, const team& members = world(),
                                                   std::source_location where = std::source_location::current()) {
  return all_to_all(std::move(values), members, where);
}
template <class T>
[[nodiscard]] future<std::vector<std::vector<T>>> exchange_async(
    std::vector<std::vector<T>> values, const team& members = world(),
    std::source_location where = std::source_location::current()) {
  return all_to_all_async(std::move(values), members, where);
}

// Exchanges values between neighbours: values[k] is sent to member to[k], and the result's element k came from member
// from[k]. Several values between the same two members arrive in the order of their entries in the sender's `to`, and
// fill the entries of the receiver's `from` in order. If `from` is left out, it equals `to`. All members of the team
// call it, also those without neighbours.
//
//   // a ring: the value that went left at the right neighbour, and the value that went right at the left one
//   auto [from_right, from_left] = ... neighbour_exchange(std::array{left, right}, values, std::array{right, left});
//
// pre: if one member names another in `to`, the other names it in `from`, as often. cost: a message for each
// neighbour.
template <class T>
[[nodiscard]] std::vector<T> neighbour_exchange(std::span<const std::uint32_t> to, std::vector<T> values,
                                                std::span<const std::uint32_t> from, const team& members = world(),
                                                std::source_location where = std::source_location::current()) {
  return detail::begin_neighbour_exchange(to, std::move(values), from, members, where)();
}
template <class T>
[[nodiscard]] std::vector<T> neighbour_exchange(std::span<const std::uint32_t> neighbours, std::vector<T> values,
                                                const team& members = world(),
                                                std::source_location where = std::source_location::current()) {
  return neighbour_exchange(neighbours, std::move(values), neighbours, members, where);
}
template <class T>
[[nodiscard]] future<std::vector<T>> neighbour_exchange_async(
    std::span<const std::uint32_t> to, std::vector<T> values, std::span<const std::uint32_t> from,
    const team& members = world(), std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_neighbour_exchange(to, std::move(values), from, members, where); });
}
template <class T>
[[nodiscard]] future<std::vector<T>> neighbour_exchange_async(
    std::span<const std::uint32_t> neighbours, std::vector<T> values, const team& members = world(),
    std::source_location where = std::source_location::current()) {
  return neighbour_exchange_async(neighbours, std::move(values), neighbours, members, where);
}

// Sends each value of `messages`, a std::map or another range of pairs (index, value), to that member; no member needs
// to know beforehand which members send to it. Returns the values that arrived, as pairs (index of the sender, value)
// in the order of indices; several values of one sender keep the order that they had in its `messages`. cost: a
// message for each value, and an all_reduce of a count for each member, by which each learns how many messages to
// expect.
template <class Messages>
[[nodiscard]] auto sparse_exchange(Messages messages, const team& members = world(),
                                   std::source_location where = std::source_location::current())
    -> std::vector<std::pair<std::uint32_t, detail::message_value<Messages>>> {
  return detail::begin_sparse_exchange(std::move(messages), members, where)();
}
template <class Messages>
[[nodiscard]] auto sparse_exchange_async(Messages messages, const team& members = world(),
                                         std::source_location where = std::source_location::current())
    -> future<std::vector<std::pair<std::uint32_t, detail::message_value<Messages>>>> {
  return detail::go_on_later(members,
                             [&] { return detail::begin_sparse_exchange(std::move(messages), members, where); });
}

}  // namespace situ
