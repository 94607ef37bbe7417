// Collectives over the elements of spans. A span that fits one fragment goes along the trees; a larger one is sent in
// fragments, so that combining one, sending the last and receiving the next overlap. Part of collective_spans.h.
#pragma once

#include <situ/runtime/detail/collective_trees.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace situ::detail {

// Four fragments fit a channel's ring, so that sender and receiver need not alternate, and they stay in the first two
// levels of caches.
inline constexpr std::size_t fragment_bytes = 32 * 1024;
static_assert(fragment_bytes <= max_medium_bytes);
template <class T>
inline constexpr std::size_t fragment_length = std::max<std::size_t>(1, fragment_bytes / sizeof(T));

template <class T>
[[nodiscard]] bool is_one_fragment(std::span<T> values) noexcept {
  return values.size() <= fragment_length<T>;
}

// Returns fragment `i` of a span; empty beyond the span's end.
template <class T>
[[nodiscard]] std::span<T> fragment_of(std::span<T> values, std::size_t i, std::size_t length) noexcept {
  const std::size_t begin = std::min(i * length, values.size());
  return values.subspan(begin, std::min(length, values.size() - begin));
}
[[nodiscard]] constexpr std::size_t fragment_count(std::size_t size, std::size_t length) noexcept {
  return (size + length - 1) / length;
}
template <class T, class Use>
void for_each_fragment(std::span<T> values, Use use) {
  for (std::size_t i = 0; i < fragment_count(values.size(), fragment_length<T>); ++i)
    use(fragment_of(values, i, fragment_length<T>));
}

// A large span goes along a chain that begins at the root, in the order of indices.
template <class T>
void broadcast_span(collective& group, std::span<T> values, std::uint32_t root) {
  if (is_one_fragment(values)) {
    element_values<T> own{values};
    return broadcast_in(group, own, root, 0);
  }
  const std::uint32_t n = group.size();
  const std::uint32_t position = (group.index() + n - root) % n;
  for_each_fragment(values, [&](std::span<T> fragment) {
    if (position != 0) group.receive_elements((group.index() + n - 1) % n, 0, fragment);
    if (position + 1 != n) group.send_elements((group.index() + 1) % n, 0, fragment);
  });
}

// --- reductions of large spans ---
//
// A reduction proceeds in rounds. The elements of a round are cut into as many pieces as there are members; each
// member receives its piece from all others, combines the pieces, and sends the result to the root, or to every
// member:
//
//   round r + 2:  pieces out  |  round r + 1:  pieces in, combine, result out  |  round r:  results in
//
// So each element crosses twice for any number of members, and is combined once.

template <class T>
[[nodiscard]] std::span<T> piece_of(std::span<T> round, std::uint32_t i, std::uint32_t n) noexcept {
  const std::size_t begin = round.size() * i / n;
  return round.subspan(begin, round.size() * (i + 1) / n - begin);
}

inline constexpr std::uint32_t everybody = UINT32_MAX;  // instead of a root

template <class T>
void send_pieces(collective& group, std::span<T> round) {
  const std::uint32_t n = group.size();
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t to = (group.index() + i) % n;
    group.send_elements(to, 0, piece_of(round, to, n));
  }
}

template <class T, class Operation>
void combine_piece(collective& group, std::span<T> round, Operation& operation, std::uint32_t root) {
  const std::uint32_t n = group.size();
  const std::uint32_t index = group.index();
  element_values<T> own{piece_of(round, index, n)};
  for (std::uint32_t left = index; left-- > 0;) own.combine_left(group, left, 0, operation);
  for (std::uint32_t right = index + 1; right < n; ++right) own.combine_right(group, right, 0, operation);
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t to = (index + i) % n;
    if (root == everybody || root == to) own.send(group, to, 1);
  }
}

template <class T>
void take_results(collective& group, std::span<T> round) {
  const std::uint32_t n = group.size();
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t from = (group.index() + i) % n;
    group.receive_elements(from, 1, piece_of(round, from, n));
  }
}

template <class T, class Operation>
void reduce_by_pieces(collective& group, std::span<T> values, Operation& operation, std::uint32_t root) {
  const std::size_t length = fragment_length<T> * group.size();
  const std::size_t rounds = fragment_count(values.size(), length);
  const bool takes_results = root == everybody || root == group.index();
  for (std::size_t r = 0; r < rounds + 2; ++r) {
    if (r < rounds) send_pieces(group, fragment_of(values, r, length));
    if (r >= 1 && r <= rounds) combine_piece(group, fragment_of(values, r - 1, length), operation, root);
    if (r >= 2 && takes_results) take_results(group, fragment_of(values, r - 2, length));
  }
}

template <class T, class Operation>
void reduce_span(collective& group, std::span<T> values, Operation& operation, std::uint32_t root) {
  if (!is_one_fragment(values)) return reduce_by_pieces(group, values, operation, root);
  element_values<T> own{values};
  reduce_in(group, own, operation, root);
}

template <class T, class Operation>
void all_reduce_span(collective& group, std::span<T> values, Operation& operation) {
  if (!is_one_fragment(values)) return reduce_by_pieces(group, values, operation, everybody);
  element_values<T> own{values};
  all_reduce_in(group, own, operation);
}

// --- scans ---

// A large span goes along a chain: each member combines a fragment and passes it on.
template <class T, class Operation>
void inclusive_scan_span(collective& group, std::span<T> values, Operation& operation) {
  if (is_one_fragment(values)) {
    element_values<T> own{values};
    return inclusive_scan_in(group, own, operation);
  }
  for_each_fragment(values, [&](std::span<T> fragment) {
    element_values<T> own{fragment};
    if (group.index() != 0) own.combine_left(group, group.index() - 1, 0, operation);
    if (group.index() + 1 != group.size()) own.send(group, group.index() + 1, 0);
  });
}

template <class T, class Operation>
void exclusive_scan_fragment(collective& group, std::span<T> fragment, const T& identity, Operation& operation) {
  const std::uint32_t index = group.index();
  const bool is_last = index + 1 == group.size();
  element_values<T> own{fragment};
  if (index == 0) {
    if (!is_last) own.send(group, 1, 0);
    return own.become(identity);
  }
  std::vector<T> sent;  // the combination of the lower members' elements and this one's
  if (!is_last) sent.reserve(fragment.size());
  group.template receive_each<T>(index - 1, 0, fragment.size(), [&](std::size_t i, T&& left) {
    if (!is_last) sent.push_back(operation(T(left), std::move(fragment[i])));
    T combined = operation(T(identity), std::move(left));
    fragment[i] = std::move(combined);
  });
  if (!is_last) group.send_elements(index + 1, 0, std::span<const T>{sent});
}

template <class T, class Operation>
void exclusive_scan_span(collective& group, std::span<T> values, const T& identity, Operation& operation) {
  if (is_one_fragment(values)) {
    element_values<T> own{values};
    return exclusive_scan_in(group, own, identity, operation);
  }
  for_each_fragment(values,
                    [&](std::span<T> fragment) { exclusive_scan_fragment(group, fragment, identity, operation); });
}

// --- collecting ---

template <class T>
void copy_elements(std::span<const T> from, std::span<T> to) {
  if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
}

// The root takes one fragment from each member in turn, so that no fragment has to be kept for long.
template <class T>
void gather_span(collective& group, std::span<const T> own, std::span<T> all, std::uint32_t root) {
  if (group.index() != root)
    return for_each_fragment(own, [&](std::span<const T> fragment) { group.send_elements(root, 0, fragment); });
  for (std::size_t i = 0; i < fragment_count(own.size(), fragment_length<T>); ++i)
    for (std::uint32_t from = 0; from < group.size(); ++from)
      if (from != root)
        group.receive_elements(from, 0, fragment_of(all.subspan(from * own.size(), own.size()), i, fragment_length<T>));
  copy_elements(own, all.subspan(root * own.size(), own.size()));
}

template <class T>
void scatter_span(collective& group, std::span<const T> all, std::span<T> own, std::uint32_t root) {
  if (group.index() != root)
    return for_each_fragment(own, [&](std::span<T> fragment) { group.receive_elements(root, 0, fragment); });
  for (std::size_t i = 0; i < fragment_count(own.size(), fragment_length<T>); ++i)
    for (std::uint32_t to = 0; to < group.size(); ++to)
      if (to != root)
        group.send_elements(to, 0, fragment_of(all.subspan(to * own.size(), own.size()), i, fragment_length<T>));
  copy_elements(all.subspan(root * own.size(), own.size()), own);
}

// Sends outgoing(i) to each member i, and receives incoming(i) from it; all runs have one length. A member sends each
// fragment before it receives the same one, so outgoing and incoming may be the same elements.
template <class T, class Outgoing, class Incoming>
void exchange_runs(collective& group, std::size_t length, Outgoing outgoing, Incoming incoming) {
  const std::uint32_t n = group.size();
  for (std::size_t s = 0; s < fragment_count(length, fragment_length<T>); ++s) {
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint32_t to = (group.index() + i) % n;
      group.send_elements(to, 0, fragment_of(outgoing(to), s, fragment_length<T>));
    }
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint32_t from = (group.index() + n - i) % n;
      group.receive_elements(from, 0, fragment_of(incoming(from), s, fragment_length<T>));
    }
  }
  copy_elements(outgoing(group.index()), incoming(group.index()));
}

template <class T>
void all_gather_span(collective& group, std::span<const T> own, std::span<T> all) {
  exchange_runs<T>(
      group, own.size(), [own](std::uint32_t) { return own; },
      [&](std::uint32_t from) { return all.subspan(from * own.size(), own.size()); });
}

template <class T>
void all_to_all_span(collective& group, std::span<const T> outgoing, std::span<T> incoming) {
  const std::size_t length = outgoing.size() / group.size();
  exchange_runs<T>(
      group, length, [=](std::uint32_t to) { return outgoing.subspan(to * length, length); },
      [=](std::uint32_t from) { return incoming.subspan(from * length, length); });
}

// --- with their number: the returned function does the rest, now or in a task ---

template <class T, class Body>
auto begin_of_span(collective_kind kind, std::uint32_t root, std::size_t count, const team& members,
                   const std::source_location& where, Body body) {
  check_value<T>();
  check_root(members, root);
  return begin_collective(members, collective_of<T>(kind, root, count), where, std::move(body));
}

}  // namespace situ::detail
