// Reductions whose bits depend only on the elements and their number. Part of collective_spans.h.
//
// The elements of all members, one after another, are the leaves of binary trees above aligned runs of 2^k elements. A
// number of elements that is no power of two gives several trees, which are combined from the right:
//
//   elements   0 1 2 3 4 5 6        (01)(23) -> (0123)   (45)   6        ->   (0123) + ((45) + 6)
//
// Each member makes the largest trees within its part; at the border between two parts, neighbouring trees under one
// node are joined. The order of the joins does not change the result, so joining is itself a reduction.
#pragma once

#include <situ/base/error_code.h>
#include <situ/runtime/detail/collective_trees.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace situ::detail {

// Combines two values. It is not inlined, so that the compiler makes the same code of it everywhere (it may contract a
// product and a sum within one function).
template <class T, class Operation>
[[gnu::noinline]] T combine_apart(Operation& operation, T left, T right) {
  return operation(std::move(left), std::move(right));
}

// The tree above the 2^height elements from element number `begin` on.
template <class T>
struct aligned_tree {
  std::uint64_t begin;
  std::uint32_t height;
  T value;
};

template <class T, class Operation>
T combine_tree(const T* first, std::size_t count, Operation& operation) {
  if (count == 1) return *first;
  const std::size_t half = count / 2;
  return combine_apart<T>(operation, combine_tree(first, half, operation), combine_tree(first + half, half, operation));
}

template <class T, class Operation>
std::vector<aligned_tree<T>> trees_of(std::span<const T> elements, std::uint64_t begin, Operation& operation) {
  std::vector<aligned_tree<T>> trees;
  while (!elements.empty()) {
    const int fitting = static_cast<int>(std::bit_width(elements.size())) - 1;
    const auto height = static_cast<std::uint32_t>(std::min(std::countr_zero(begin), fitting));
    const std::size_t count = std::size_t{1} << height;
    trees.push_back({begin, height, combine_tree(elements.data(), count, operation)});
    elements = elements.subspan(count);
    begin += count;
  }
  return trees;
}

// Joins two lists of trees. pre: the first element under `right` follows the last element under `left`.
template <class T, class Operation>
std::vector<aligned_tree<T>> join_trees(std::vector<aligned_tree<T>> left, std::vector<aligned_tree<T>> right,
                                        Operation& operation) {
  for (aligned_tree<T>& tree : right) {
    aligned_tree<T> joined = std::move(tree);
    while (!left.empty() && left.back().height == joined.height && (left.back().begin >> joined.height) % 2 == 0) {
      joined = {left.back().begin, joined.height + 1,
                combine_apart<T>(operation, std::move(left.back().value), std::move(joined.value))};
      left.pop_back();
    }
    left.push_back(std::move(joined));
  }
  return left;
}

template <class T, class Operation>
T reproducible_in(collective& group, std::span<const T> elements, Operation& operation) {
  one_value<std::uint64_t> begin{elements.size()};
  std::plus<> sum;
  exclusive_scan_in(group, begin, std::uint64_t{0}, sum);
  one_value<std::vector<aligned_tree<T>>> own{trees_of(elements, begin.get(), operation)};
  const auto join = [&](std::vector<aligned_tree<T>> left, std::vector<aligned_tree<T>> right) {
    return join_trees(std::move(left), std::move(right), operation);
  };
  all_reduce_in(group, own, join, scan_steps);
  std::vector<aligned_tree<T>> trees = own.get();
  if (trees.empty()) throw_error(errc::bad_argument, "a reduction of no elements: no member has any");
  T combined = std::move(trees.back().value);
  for (std::size_t i = trees.size() - 1; i-- > 0;)
    combined = combine_apart<T>(operation, std::move(trees[i].value), std::move(combined));
  return combined;
}

}  // namespace situ::detail
