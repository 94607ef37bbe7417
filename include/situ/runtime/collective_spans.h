// Collectives of the elements of spans, in place where that can be.
//
//   std::vector<double> forces(n);
//   situ::all_reduce(std::span{forces}, std::plus<>{});                 // element by element, at every member
//   situ::future<> sent = situ::broadcast_async(std::span{forces}, 0);  // forces stay until it is ready
//
// All members give spans of one length, of elements of any type that travels; plain data of another length is told as
// bad_argument. What is larger than a fragment (32 KiB) goes in fragments, so that sending, combining and receiving go
// on side by side, and no copy of the whole is made. As the collectives of collective.h otherwise: the same order, the
// same errors, asynchronous forms. After an error the elements that would have been written are unspecified.
//
// Of an asynchronous one the elements belong to the collective until its future is ready. A wait for the future that a
// loss has ended does not make it so: wait again. cost: with n members, each element leaves a member once for broadcast
// and scans, twice for reductions, n - 1 times for all_gather and all_to_all; a small span as a value does.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/detail/collective_spans.h>
#include <situ/runtime/detail/reproducible.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

namespace situ {

// Asks a reduction for the same bits however many members the elements are spread over:
//
//   double sum = situ::all_reduce(situ::reproducible, std::span{mine}, std::plus<>{});
struct reproducible_t {};
// The value to pass.
inline constexpr reproducible_t reproducible{};

namespace detail {

template <class U, class T>
concept elements_for = std::same_as<std::remove_const_t<U>, T>;

template <class T>
auto begin_broadcast_span(std::span<T> values, std::uint32_t root, const team& members,
                          const std::source_location& where) {
  return begin_of_span<T>(collective_kind::broadcast, root, values.size(), members, where,
                          [=](collective& group) { broadcast_span(group, values, root); });
}

template <class T, class Operation>
auto begin_reduce_span(std::span<T> values, Operation operation, std::uint32_t root, const team& members,
                       const std::source_location& where) {
  return begin_of_span<T>(collective_kind::reduce, root, values.size(), members, where,
                          [=, operation = std::move(operation)](collective& group) mutable {
                            reduce_span(group, values, operation, root);
                          });
}

template <class T, class Operation>
auto begin_all_reduce_span(std::span<T> values, Operation operation, const team& members,
                           const std::source_location& where) {
  return begin_of_span<T>(
      collective_kind::all_reduce, 0, values.size(), members, where,
      [=, operation = std::move(operation)](collective& group) mutable { all_reduce_span(group, values, operation); });
}

template <class T, class Operation>
auto begin_reproducible(std::span<const T> elements, Operation operation, const team& members,
                        const std::source_location& where) {
  return begin_of_span<T>(collective_kind::all_reduce, 0, 0, members, where,
                          [=, operation = std::move(operation)](collective& group) mutable {
                            return reproducible_in(group, elements, operation);
                          });
}

template <class T, class Operation>
auto begin_inclusive_scan_span(std::span<T> values, Operation operation, const team& members,
                               const std::source_location& where) {
  return begin_of_span<T>(collective_kind::inclusive_scan, 0, values.size(), members, where,
                          [=, operation = std::move(operation)](collective& group) mutable {
                            inclusive_scan_span(group, values, operation);
                          });
}

template <class T, class Operation>
auto begin_exclusive_scan_span(std::span<T> values, Operation operation, T identity, const team& members,
                               const std::source_location& where) {
  return begin_of_span<T>(collective_kind::exclusive_scan, 0, values.size(), members, where,
                          [=, operation = std::move(operation), identity = std::move(identity)](
                              collective& group) mutable { exclusive_scan_span(group, values, identity, operation); });
}

template <class T>
auto begin_gather_span(std::span<const T> own, std::span<T> all, std::uint32_t root, const team& members,
                       const std::source_location& where) {
  SITU_ASSERT(1, members.index() != root || all.size() == own.size() * members.size(),
              "gather fills, at its root, a span of as many elements as all members give together");
  return begin_of_span<T>(collective_kind::gather, root, own.size(), members, where,
                          [=](collective& group) { gather_span(group, own, all, root); });
}

template <class T>
auto begin_scatter_span(std::span<const T> all, std::span<T> own, std::uint32_t root, const team& members,
                        const std::source_location& where) {
  SITU_ASSERT(1, members.index() != root || all.size() == own.size() * members.size(),
              "scatter takes, at its root, a span of as many elements as all members get together");
  return begin_of_span<T>(collective_kind::scatter, root, own.size(), members, where,
                          [=](collective& group) { scatter_span(group, all, own, root); });
}

template <class T>
auto begin_all_gather_span(std::span<const T> own, std::span<T> all, const team& members,
                           const std::source_location& where) {
  SITU_ASSERT(1, all.size() == own.size() * members.size(),
              "all_gather fills a span of as many elements as all members give together");
  return begin_of_span<T>(collective_kind::all_gather, 0, own.size(), members, where,
                          [=](collective& group) { all_gather_span(group, own, all); });
}

template <class T>
auto begin_all_to_all_span(std::span<const T> outgoing, std::span<T> incoming, const team& members,
                           const std::source_location& where) {
  SITU_ASSERT(1, outgoing.size() % members.size() == 0 && incoming.size() == outgoing.size(),
              "all_to_all takes and fills spans of one length, with as many elements for each member of the team");
  return begin_of_span<T>(collective_kind::all_to_all, 0, outgoing.size(), members, where,
                          [=](collective& group) { all_to_all_span(group, outgoing, incoming); });
}

}  // namespace detail

// The root's elements, at every member, in place.
template <class T, std::size_t Extent>
  requires(!std::is_const_v<T>)
void broadcast(std::span<T, Extent> values, std::uint32_t root = 0, const team& members = world(),
               std::source_location where = std::source_location::current()) {
  detail::begin_broadcast_span<T>(values, root, members, where)();
}
template <class T, std::size_t Extent>
  requires(!std::is_const_v<T>)
[[nodiscard]] future<> broadcast_async(std::span<T, Extent> values, std::uint32_t root = 0,
                                       const team& members = world(),
                                       std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_broadcast_span<T>(values, root, members, where); });
}

// Element by element, operation(...) over those of all members, at the root in place; elsewhere what the span holds
// then is unspecified.
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
void reduce(std::span<T, Extent> values, Operation operation, std::uint32_t root = 0, const team& members = world(),
            std::source_location where = std::source_location::current()) {
  detail::begin_reduce_span<T>(values, std::move(operation), root, members, where)();
}
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
[[nodiscard]] future<> reduce_async(std::span<T, Extent> values, Operation operation, std::uint32_t root = 0,
                                    const team& members = world(),
                                    std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_reduce_span<T>(values, std::move(operation), root, members, where); });
}

// The same, at every member.
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
void all_reduce(std::span<T, Extent> values, Operation operation, const team& members = world(),
                std::source_location where = std::source_location::current()) {
  detail::begin_all_reduce_span<T>(values, std::move(operation), members, where)();
}
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
[[nodiscard]] future<> all_reduce_async(std::span<T, Extent> values, Operation operation, const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_all_reduce_span<T>(values, std::move(operation), members, where); });
}

// operation(...) over all elements of all members, those of member 0 first, to one value at every member. Its bits
// depend on the elements, their order and their number, and not on how many members have how many of them: spread the
// same sequence over more places, and the result stays. Throws bad_argument where no member has an element. cost: a
// call of the operation for each element, and two of the small collectives, with up to 2 log2(elements) values a
// message.
template <class T, std::size_t Extent, class Operation>
[[nodiscard]] std::remove_const_t<T> all_reduce(reproducible_t, std::span<T, Extent> elements, Operation operation,
                                                const team& members = world(),
                                                std::source_location where = std::source_location::current()) {
  return detail::begin_reproducible<std::remove_const_t<T>>(elements, std::move(operation), members, where)();
}
template <class T, std::size_t Extent, class Operation>
[[nodiscard]] future<std::remove_const_t<T>> all_reduce_async(
    reproducible_t, std::span<T, Extent> elements, Operation operation, const team& members = world(),
    std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] {
    return detail::begin_reproducible<std::remove_const_t<T>>(elements, std::move(operation), members, where);
  });
}

// Element by element, at member i operation(...) over those of members 0 .. i, in place.
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
void inclusive_scan(std::span<T, Extent> values, Operation operation, const team& members = world(),
                    std::source_location where = std::source_location::current()) {
  detail::begin_inclusive_scan_span<T>(values, std::move(operation), members, where)();
}
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
[[nodiscard]] future<> inclusive_scan_async(std::span<T, Extent> values, Operation operation,
                                            const team& members = world(),
                                            std::source_location where = std::source_location::current()) {
  return detail::go_on_later(
      members, [&] { return detail::begin_inclusive_scan_span<T>(values, std::move(operation), members, where); });
}

// Element by element, at member i operation(...) over `identity` and those of members 0 .. i-1, in place.
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
void exclusive_scan(std::span<T, Extent> values, Operation operation, std::type_identity_t<T> identity,
                    const team& members = world(), std::source_location where = std::source_location::current()) {
  detail::begin_exclusive_scan_span<T>(values, std::move(operation), std::move(identity), members, where)();
}
template <class T, std::size_t Extent, class Operation>
  requires(!std::is_const_v<T>)
[[nodiscard]] future<> exclusive_scan_async(std::span<T, Extent> values, Operation operation,
                                            std::type_identity_t<T> identity, const team& members = world(),
                                            std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] {
    return detail::begin_exclusive_scan_span<T>(values, std::move(operation), std::move(identity), members, where);
  });
}

// Everybody's elements, one member's after another's, in the root's `all`, which is not looked at elsewhere. `own` may
// lie at its place in `all`.
template <class U, std::size_t Extent, class T, std::size_t AllExtent>
  requires detail::elements_for<U, T>
void gather(std::span<U, Extent> own, std::span<T, AllExtent> all, std::uint32_t root = 0,
            const team& members = world(), std::source_location where = std::source_location::current()) {
  detail::begin_gather_span<T>(own, all, root, members, where)();
}
template <class U, std::size_t Extent, class T, std::size_t AllExtent>
  requires detail::elements_for<U, T>
[[nodiscard]] future<> gather_async(std::span<U, Extent> own, std::span<T, AllExtent> all, std::uint32_t root = 0,
                                    const team& members = world(),
                                    std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_gather_span<T>(own, all, root, members, where); });
}

// The other way round: the root's `all`, a run of elements for each member, which is not looked at elsewhere. `own` may
// lie at its place in `all`.
template <class U, std::size_t AllExtent, class T, std::size_t Extent>
  requires detail::elements_for<U, T>
void scatter(std::span<U, AllExtent> all, std::span<T, Extent> own, std::uint32_t root = 0,
             const team& members = world(), std::source_location where = std::source_location::current()) {
  detail::begin_scatter_span<T>(all, own, root, members, where)();
}
template <class U, std::size_t AllExtent, class T, std::size_t Extent>
  requires detail::elements_for<U, T>
[[nodiscard]] future<> scatter_async(std::span<U, AllExtent> all, std::span<T, Extent> own, std::uint32_t root = 0,
                                     const team& members = world(),
                                     std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_scatter_span<T>(all, own, root, members, where); });
}

// Everybody's elements, one member's after another's, at every member. `own` may lie at its place in `all`.
template <class U, std::size_t Extent, class T, std::size_t AllExtent>
  requires detail::elements_for<U, T>
void all_gather(std::span<U, Extent> own, std::span<T, AllExtent> all, const team& members = world(),
                std::source_location where = std::source_location::current()) {
  detail::begin_all_gather_span<T>(own, all, members, where)();
}
template <class U, std::size_t Extent, class T, std::size_t AllExtent>
  requires detail::elements_for<U, T>
[[nodiscard]] future<> all_gather_async(std::span<U, Extent> own, std::span<T, AllExtent> all,
                                        const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members, [&] { return detail::begin_all_gather_span<T>(own, all, members, where); });
}

// Runs of elements of one length: run j of `outgoing` goes to member j, run i of `incoming` came from member i. Both
// may be the same span.
template <class U, std::size_t Extent, class T, std::size_t InExtent>
  requires detail::elements_for<U, T>
void all_to_all(std::span<U, Extent> outgoing, std::span<T, InExtent> incoming, const team& members = world(),
                std::source_location where = std::source_location::current()) {
  detail::begin_all_to_all_span<T>(outgoing, incoming, members, where)();
}
template <class U, std::size_t Extent, class T, std::size_t InExtent>
  requires detail::elements_for<U, T>
[[nodiscard]] future<> all_to_all_async(std::span<U, Extent> outgoing, std::span<T, InExtent> incoming,
                                        const team& members = world(),
                                        std::source_location where = std::source_location::current()) {
  return detail::go_on_later(members,
                             [&] { return detail::begin_all_to_all_span<T>(outgoing, incoming, members, where); });
}

}  // namespace situ
