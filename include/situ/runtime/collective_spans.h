// Collectives over the elements of spans, in place if possible.
//
//   std::vector<double> forces(n);
//   situ::all_reduce(std::span{forces}, std::plus<>{});                 // element by element, at every member
//   situ::future<> sent = situ::broadcast_async(std::span{forces}, 0);  // forces stay until it is ready
//
// All members give spans of one length, of elements of any type that travels; for plain data a different length is
// reported as bad_argument. A span larger than a fragment (32 KiB) is sent in fragments, so that sending, combining
// and receiving overlap and no copy of the whole span is made. Order, errors and asynchronous forms are otherwise
// those of collective.h. After an error the elements that the collective would have written are unspecified.
//
// The elements belong to an asynchronous collective until its future is ready. If a loss ends a wait for that future,
// the future is not ready: wait again. cost: with n members, each element leaves a member once for broadcast and
// scans, twice for reductions, n - 1 times for all_gather and all_to_all; a small span costs as much as a value.
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
// The argument that selects a reproducible reduction.
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

// Copies the root's elements to every member, in place.
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

// Computes operation(...) element by element over the spans of all members, in place at the root; at the other members
// the span's contents are unspecified afterwards.
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

// Computes operation(...) element by element over the spans of all members, in place at every member.
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

// Returns, at every member, operation(...) over all elements of all members, those of member 0 first. The bits of the
// result depend on the elements, their order and their number, and not on how the elements are divided among the
// members: the same sequence spread over more places gives the same result. Throws bad_argument if no member has an
// element. cost: a call of the operation for each element, and two small collectives, with up to 2 log2(elements)
// values a message.
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

// Computes, at member i, operation(...) element by element over the spans of members 0 .. i, in place.
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

// Computes, at member i, in place, operation(...) element by element over `identity` and the spans of
// members 0 to i-1.
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

// Collects the elements of all members, in the order of the members, in the root's `all`; the other members' `all` is
// ignored. `own` may be the member's own part of `all`.
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

// Distributes the root's `all`, which has a run of elements for each member in order; the other members' `all` is
// ignored. `own` may be the member's own part of `all`.
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

// Collects the elements of all members, in member order, at every member. `own` may be the member's own part of `all`.
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

// Exchanges runs of one length: run j of `outgoing` is sent to member j, run i of `incoming` came from member i. Both
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
