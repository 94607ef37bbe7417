// UTS, the unbalanced tree search (Olivier and others, LCPC 2006): the nodes of a tree that nobody knows before are
// counted. A node's name is the SHA-1 hash of its parent's and its number among the children, so any place can go on
// from any node. The tree is geometric with a linear bound, of the family of UTS's T5.
#pragma once

#include <situ/situ.h>

#include <situ/spread/task_pool.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "support/job_samples.h"

namespace uts {

using name = std::array<std::uint32_t, 5>;

// One block of SHA-1 (FIPS 180-4) over a name and a number: 24 bytes, padded.
inline name hash_of(const name& parent, std::uint32_t number) {
  std::array<std::uint32_t, 80> w{};
  std::copy(parent.begin(), parent.end(), w.begin());
  w[5] = number;
  w[6] = 0x80000000;
  w[15] = 24 * 8;
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  name state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  auto [a, b, c, d, e] = state;
  const auto round = [&](std::uint32_t f, std::uint32_t k, std::uint32_t word) {
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  };
  std::size_t i = 0;
  for (; i < 20; ++i) round((b & c) | (~b & d), 0x5a827999, w[i]);
  for (; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (; i < 60; ++i) round((b & c) | (b & d) | (c & d), 0x8f1bbcdc, w[i]);
  for (; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  const name out{a, b, c, d, e};
  for (std::size_t j = 0; j < 5; ++j) state[j] += out[j];
  return state;
}

struct node {
  name state;
  std::uint32_t depth;
};

inline std::uint32_t most_depth() { return job_bench::is_quick() ? 10 : 23; }

// Geometrically distributed with mean b(depth), which falls linearly to 0 at the greatest depth.
inline std::uint32_t children_of(const node& n) {
  constexpr double at_root = 4;
  const double mean = at_root * (1 - static_cast<double>(n.depth) / most_depth());
  if (mean <= 0) return 0;
  const double u = static_cast<double>(n.state[4] >> 1) / 0x1p31;  // UTS takes 31 bits
  return static_cast<std::uint32_t>(std::floor(std::log(1 - u) / std::log(1 - 1 / (1 + mean))));
}
inline node child_of(const node& n, std::uint32_t i) { return {hash_of(n.state, i), n.depth + 1}; }
inline node root() { return {hash_of({}, 34), 0}; }

inline thread_local std::uint64_t nodes_here;

inline void visit(situ::task_pool& pool, const node& n) {
  ++nodes_here;
  const std::uint32_t children = children_of(n);
  for (std::uint32_t i = 0; i < children; ++i)
    pool.add([](situ::task_pool& p, const node& c) { visit(p, c); }, child_of(n, i));
}

// The nodes that this place has visited, by a pool to whose first member the root is given; all its members call it.
inline std::uint64_t count_by(situ::task_pool& pool, bool is_first) {
  nodes_here = 0;
  if (is_first) pool.add([](situ::task_pool& p, const node& n) { visit(p, n); }, root());
  pool.run();
  return nodes_here;
}

inline void check_count(std::uint64_t counted, std::uint64_t nodes) {
  if (counted == nodes) return;
  std::fprintf(stderr, "uts: %llu nodes by the pool, %llu before\n", static_cast<unsigned long long>(counted),
               static_cast<unsigned long long>(nodes));
  std::exit(1);
}

}  // namespace uts
