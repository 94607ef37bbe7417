// Collectives: every member of a team calls the same one, in the same order. Values are of any type that travels
// (serialize.h).
//
// Reductions combine in the order of the members' indices along a binomial tree, so the same values give the same bits
// on every run, and the operation need be associative only. Errors: place_lost_error where a member is lost. They wait;
// the place goes on working.
// cost: with n members, log2(n) message latencies for broadcast, reduce and scan, n - 1 messages a member for
// all_to_all and exchange.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/runtime/detail/parcel.h>
#include <situ/runtime/serialize.h>
#include <situ/runtime/team.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace situ {

namespace detail {

// One collective in progress: gives its messages a tag of their own. Throws place_lost_error where a member is lost.
class collective {
 public:
  explicit collective(const team& members);
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }

  template <class T>
  void send(std::uint32_t to, std::uint32_t step, const T& value) {
    send_parcel(channel_to(to), message_kind::medium_message, part_handler(), words(step), wire<T>::size(value),
                [&](wire_writer& writer) { wire<T>::write(writer, value); });
    SITU_POINT(part_sent);
  }
  template <class T>
  [[nodiscard]] T receive(std::uint32_t from, std::uint32_t step) {
    const std::vector<std::byte> bytes = receive_bytes(from, step);
    wire_reader reader{bytes.data(), bytes.size()};
    return wire<T>::read(reader);
  }

 private:
  [[nodiscard]] outgoing& channel_to(std::uint32_t to) const;
  [[nodiscard]] static function_id part_handler() noexcept;
  [[nodiscard]] std::array<std::uint64_t, 3> words(std::uint32_t step) const noexcept;
  [[nodiscard]] std::vector<std::byte> receive_bytes(std::uint32_t from, std::uint32_t step);

  team_state& team_;
  std::uint64_t tag_;
  std::uint32_t size_;
  std::uint32_t index_;
};

// Binomial tree: each member has the value once its parent, the member whose index lacks the lowest set bit, has sent
// it.
template <class T>
T broadcast_in(collective& group, std::optional<T> value, std::uint32_t root, std::uint32_t step) {
  const std::uint32_t n = group.size();
  const std::uint32_t relative = (group.index() + n - root) % n;
  std::uint32_t bit = 1;
  for (; bit < n && (relative & bit) == 0; bit <<= 1) {}
  if (relative != 0) value.emplace(group.receive<T>((relative - bit + root) % n, step));
  for (bit >>= 1; bit != 0; bit >>= 1)
    if (relative + bit < n) group.send((relative + bit + root) % n, step, *value);
  return std::move(*value);
}

// Combines towards member 0, lower indices on the left. The result is there; elsewhere what was combined so far.
template <class T, class Operation>
T reduce_in(collective& group, T value, Operation& operation, std::uint32_t step) {
  for (std::uint32_t bit = 1; bit < group.size(); bit <<= 1) {
    if ((group.index() & bit) != 0) {
      group.send(group.index() - bit, step, value);
      break;
    }
    if (group.index() + bit < group.size()) {
      T right = group.receive<T>(group.index() + bit, step);
      value = operation(std::move(value), std::move(right));
    }
  }
  return value;
}

template <class T>
std::vector<T> gather_in(collective& group, const T& value, std::uint32_t root, std::uint32_t step) {
  std::vector<T> values;
  if (group.index() != root) {
    group.send(root, step, value);
    return values;
  }
  values.reserve(group.size());
  for (std::uint32_t from = 0; from < group.size(); ++from)
    values.push_back(from == root ? value : group.receive<T>(from, step));
  return values;
}

template <class T>
consteval void check_collective() {
  static_assert(travels<T>,
                "situ: collectives move trivially copyable values (no raw pointers: use situ::ptr), std::string, and "
                "std::vector, std::tuple, std::pair, "
                "std::optional and std::array of those");
}
inline void check_root(const team& members, std::uint32_t root) {
  SITU_ASSERT(1, root < members.size(), "the root of a collective is an index within its team, less than team.size()");
}

}  // namespace detail

// The root's value, at every member.
template <class T>
[[nodiscard]] T broadcast(T value, std::uint32_t root = 0, const team& members = world()) {
  detail::check_collective<T>();
  detail::check_root(members, root);
  detail::collective group{members};
  return detail::broadcast_in<T>(group, std::move(value), root, 0);
}

// operation(...) over all values, at the root; elsewhere the result is unspecified.
template <class T, class Operation>
T reduce(T value, Operation operation, std::uint32_t root = 0, const team& members = world()) {
  detail::check_collective<T>();
  detail::check_root(members, root);
  detail::collective group{members};
  T combined = detail::reduce_in(group, std::move(value), operation, 0);
  if (root == 0) return combined;
  if (group.index() == 0) group.send(root, 1, combined);
  return group.index() == root ? group.receive<T>(0, 1) : std::move(combined);
}

// The same, at every member.
template <class T, class Operation>
[[nodiscard]] T all_reduce(T value, Operation operation, const team& members = world()) {
  detail::check_collective<T>();
  detail::collective group{members};
  return detail::broadcast_in<T>(group, detail::reduce_in(group, std::move(value), operation, 0), 0, 1);
}

// At member i, operation(...) over the values of members 0 .. i.
template <class T, class Operation>
[[nodiscard]] T inclusive_scan(T value, Operation operation, const team& members = world()) {
  detail::check_collective<T>();
  detail::collective group{members};
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < group.size(); distance <<= 1, ++step) {
    if (group.index() + distance < group.size()) group.send(group.index() + distance, step, value);
    if (group.index() >= distance) {
      T left = group.receive<T>(group.index() - distance, step);
      value = operation(std::move(left), std::move(value));
    }
  }
  return value;
}

// At member i, operation(...) over `identity` and the values of members 0 .. i-1.
template <class T, class Operation>
[[nodiscard]] T exclusive_scan(T value, Operation operation, std::type_identity_t<T> identity,
                               const team& members = world()) {
  T inclusive = inclusive_scan(std::move(value), operation, members);
  detail::collective group{members};
  if (group.index() + 1 < group.size()) group.send(group.index() + 1, 0, inclusive);
  if (group.index() == 0) return identity;
  T left = group.receive<T>(group.index() - 1, 0);
  return operation(std::move(identity), std::move(left));
}

// All values by member index, at the root; empty elsewhere.
template <class T>
[[nodiscard]] std::vector<T> gather(const T& value, std::uint32_t root = 0, const team& members = world()) {
  detail::check_collective<T>();
  detail::check_root(members, root);
  detail::collective group{members};
  return detail::gather_in(group, value, root, 0);
}

// The same, at every member.
template <class T>
[[nodiscard]] std::vector<T> all_gather(const T& value, const team& members = world()) {
  detail::check_collective<T>();
  detail::collective group{members};
  return detail::broadcast_in<std::vector<T>>(group, detail::gather_in(group, value, 0, 0), 0, 1);
}

// values[j] goes to member j; the result's element i came from member i. pre: values.size() == members.size().
template <class T>
[[nodiscard]] std::vector<T> all_to_all(std::vector<T> values, const team& members = world()) {
  detail::check_collective<T>();
  SITU_ASSERT(1, values.size() == members.size(),
              "all_to_all and exchange take one element for each member of the team");
  detail::collective group{members};
  for (std::uint32_t i = 1; i < group.size();
       ++i) {  // each starts with its neighbour, so that no member is everybody's first
    const std::uint32_t to = (group.index() + i) % group.size();
    group.send(to, 0, static_cast<const T&>(values[to]));
  }
  for (std::uint32_t i = 1; i < group.size(); ++i) {
    const std::uint32_t from = (group.index() + group.size() - i) % group.size();
    values[from] = group.receive<T>(from, 0);
  }
  return values;
}

// all_to_all of any number of elements each.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> exchange(std::vector<std::vector<T>> values, const team& members = world()) {
  return all_to_all(std::move(values), members);
}

}  // namespace situ
