// sort, stable_sort, is_sorted: the elements that the members of a team have, in order over all of them.
//
//   numbers = situ::sort(std::move(numbers));                                      // at each place, together
//   orders = situ::stable_sort(std::move(orders), [](const order& a, const order& b) { return a.day < b.day; });
//
// Collective: each member gives a vector, of any length, and gets one. Put end to end in the order of the members'
// indices, the results are what std::sort or std::stable_sort makes of what was given, put end to end. They are
// balanced whatever the values, also where all are equal: of N elements in all, n members get N / n each, to within a
// sixteenth of that and n elements. Elements are of any type that travels (serialize.h); of plain data they are fetched
// from their places' memory, once. The comparison is used where it is given, need be the same at all members, and may
// capture. pre: it does not throw, or the other members wait for the one where it did.
//
// They own nothing, and belong to their place's thread, as all collectives do. Errors: place_lost_error where a member
// is lost, or while a place is lost: the elements given are gone then; out_of_memory, at every member where one has no
// room in its segment; bad_argument where another member calls something else. cost: of n elements a member, std::sort
// of them, one copy to the segment and one to the member that they belong to (of what is not plain data: a message
// for each member), log2(members) merges of n, some ten samples for each pair of members, seven collectives. Source:
// sorting by regular sampling (Shi and Schaeffer, 1992), with equal elements told apart by where they came from.
#pragma once

#include <situ/runtime/collective.h>
#include <situ/spread/detail/sort_parts.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <source_location>
#include <utility>
#include <vector>

namespace situ {

// This member's part of all elements in order. Equal elements may change places. cost: see above.
template <class T, class Compare = std::less<>>
[[nodiscard]] std::vector<T> sort(std::vector<T> mine, Compare before = {}, const team& members = world(),
                                  std::source_location where = std::source_location::current()) {
  return detail::sort_over(
      std::move(mine), [&](T* first, T* last) { std::sort(first, last, std::ref(before)); }, before, members, where);
}

// The same, and equal elements stay in the order in which they were: those of a member among each other, behind those
// of the members before it. cost: as sort, with std::stable_sort.
template <class T, class Compare = std::less<>>
[[nodiscard]] std::vector<T> stable_sort(std::vector<T> mine, Compare before = {}, const team& members = world(),
                                         std::source_location where = std::source_location::current()) {
  return detail::sort_over(
      std::move(mine), [&](T* first, T* last) { std::stable_sort(first, last, std::ref(before)); }, before, members,
      where);
}

// Whether the members' elements, put end to end, are in order; the same answer at all. cost: std::is_sorted of each
// member's, and an all_gather of two elements.
template <class T, class Compare = std::less<>>
[[nodiscard]] bool is_sorted(const std::vector<T>& mine, Compare before = {}, const team& members = world(),
                             std::source_location where = std::source_location::current()) {
  detail::sorted_ends<T> own{std::is_sorted(mine.begin(), mine.end(), std::ref(before)), {}};
  if (!mine.empty()) own.first_and_last = {mine.front(), mine.back()};
  const T* last = nullptr;
  const auto all = all_gather(std::move(own), members, where);
  for (const auto& [is_in_order, ends] : all) {
    if (!is_in_order || (last != nullptr && !ends.empty() && before(ends.front(), *last))) return false;
    if (!ends.empty()) last = &ends.back();
  }
  return true;
}

}  // namespace situ
