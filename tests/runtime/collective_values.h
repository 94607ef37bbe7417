// Values that every place can compute of every other, and each collective of them against a sequential reference. The
// operations are associative but do not commute.
#pragma once

#include "support/places.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::test {

// A value for each (seed, member) of each type.
template <class T>
struct value_of;
template <>
struct value_of<std::int64_t> {
  static std::int64_t make(std::uint64_t seed, std::uint64_t member) {
    return static_cast<std::int64_t>(mixed(seed, member) % 2000000) - 1000000;
  }
};
template <>
struct value_of<double> {
  static double make(std::uint64_t seed, std::uint64_t member) {
    return static_cast<double>(mixed(seed, member) % 1024) / 4;
  }
};
template <>
struct value_of<std::string> {
  static std::string make(std::uint64_t seed, std::uint64_t member) {
    // now and then beyond a message, once joined
    const std::size_t length = mixed(seed, 7) % 40 == 0 ? 30000 : mixed(seed, member) % 30;
    return std::string(length, static_cast<char>('a' + member % 26)) + std::to_string(member);
  }
};
template <>
struct value_of<std::vector<std::uint32_t>> {
  static std::vector<std::uint32_t> make(std::uint64_t seed, std::uint64_t member) {
    std::vector<std::uint32_t> made(mixed(seed, member) % 50);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(mixed(seed, 1000 * member + i));
    return made;
  }
};
struct matrix {  // 2 x 2 over the unsigned numbers: multiplication associates and does not commute
  std::array<std::uint32_t, 4> e;
  friend bool operator==(const matrix&, const matrix&) = default;
};
template <>
struct value_of<matrix> {
  static matrix make(std::uint64_t seed, std::uint64_t member) {
    matrix m;
    for (std::size_t i = 0; i < 4; ++i) m.e[i] = static_cast<std::uint32_t>(mixed(seed, 10 * member + i));
    return m;
  }
};

struct combine {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;  // numbers exactly (doubles here are multiples of 1/4), strings in order
  }
  matrix operator()(matrix a, matrix b) const {
    return {{a.e[0] * b.e[0] + a.e[1] * b.e[2], a.e[0] * b.e[1] + a.e[1] * b.e[3], a.e[2] * b.e[0] + a.e[3] * b.e[2],
             a.e[2] * b.e[1] + a.e[3] * b.e[3]}};
  }
  std::vector<std::uint32_t> operator()(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) const {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

template <class T>
T reduced(std::uint64_t seed, std::uint32_t first, std::uint32_t end) {
  T total = value_of<T>::make(seed, first);
  for (std::uint32_t i = first + 1; i < end; ++i) total = combine{}(total, value_of<T>::make(seed, i));
  return total;
}

// One collective of a team, with values of T; roots, sizes and contents come of the seed. All members call it.
enum class collective_kind : std::uint32_t {
  broadcast,
  reduce,
  all_reduce,
  inclusive_scan,
  exclusive_scan,
  gather,
  all_gather,
  all_to_all,
  exchange,
  count
};

template <class T>
void check_collective(collective_kind kind, const team& t, std::uint64_t seed) {
  const std::uint32_t n = t.size();
  const std::uint32_t me = t.index();
  const auto root = static_cast<std::uint32_t>(mixed(seed, 5) % n);
  const T own = value_of<T>::make(seed, me);
  const auto of_everybody = [&] {
    std::vector<T> all;
    for (std::uint32_t i = 0; i < n; ++i) all.push_back(value_of<T>::make(seed, i));
    return all;
  };
  switch (kind) {
    case collective_kind::broadcast:
      ASSERT_EQ(broadcast(me == root ? own : T{}, root, t), value_of<T>::make(seed, root));
      break;
    case collective_kind::reduce: {
      const T at_root = reduce(own, combine{}, root, t);
      if (me == root) {
        ASSERT_EQ(at_root, (reduced<T>(seed, 0, n)));
      }
      break;
    }
    case collective_kind::all_reduce: ASSERT_EQ(all_reduce(own, combine{}, t), (reduced<T>(seed, 0, n))); break;
    case collective_kind::inclusive_scan:
      ASSERT_EQ(inclusive_scan(own, combine{}, t), (reduced<T>(seed, 0, me + 1)));
      break;
    case collective_kind::exclusive_scan: {
      const T first = value_of<T>::make(seed, 999);
      ASSERT_EQ(exclusive_scan(own, combine{}, first, t), me == 0 ? first : combine{}(first, reduced<T>(seed, 0, me)));
      break;
    }
    case collective_kind::gather:
      ASSERT_EQ(gather(own, root, t), me == root ? of_everybody() : std::vector<T>{});
      break;
    case collective_kind::all_gather: ASSERT_EQ(all_gather(own, t), of_everybody()); break;
    case collective_kind::all_to_all: {
      std::vector<T> outgoing, expected;
      for (std::uint32_t i = 0; i < n; ++i) {
        outgoing.push_back(value_of<T>::make(seed, 100 * me + i));
        expected.push_back(value_of<T>::make(seed, 100 * i + me));
      }
      ASSERT_EQ(all_to_all(outgoing, t), expected);
      break;
    }
    case collective_kind::exchange: {
      const auto count_from = [&](std::uint32_t from, std::uint32_t to) { return mixed(seed, 31 * from + to) % 4; };
      std::vector<std::vector<T>> outgoing, expected;
      for (std::uint32_t i = 0; i < n; ++i) {
        outgoing.emplace_back(count_from(me, i), value_of<T>::make(seed, 100 * me + i));
        expected.emplace_back(count_from(i, me), value_of<T>::make(seed, 100 * i + me));
      }
      ASSERT_EQ(exchange(outgoing, t), expected);
      break;
    }
    case collective_kind::count: break;
  }
}

// The same, of a type that comes of the seed, too.
inline void check_collective(collective_kind kind, const team& t, std::uint64_t seed) {
  switch (mixed(seed, 71) % 5) {
    case 0: return check_collective<std::int64_t>(kind, t, seed);
    case 1: return check_collective<double>(kind, t, seed);
    case 2: return check_collective<std::string>(kind, t, seed);
    case 3: return check_collective<std::vector<std::uint32_t>>(kind, t, seed);
    default: return check_collective<matrix>(kind, t, seed);
  }
}

}  // namespace situ::test
