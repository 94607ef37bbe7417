// sort, stable_sort, is_sorted: sort the elements of all members of a team into one global order, or check that order.
//
//   numbers = situ::sort(std::move(numbers));                                      // at each place, together
//   orders = situ::stable_sort(std::move(orders), [](const order& a, const order& b) { return a.day < b.day; });
//
// Collective: each member passes a vector of any length and gets one back. The results, concatenated in the order of
// the members' indices, are what std::sort or std::stable_sort makes of the concatenated inputs. They are balanced for
// all values, even if all are equal: of N elements, each of n members gets N / n, to within a sixteenth of that and n
// elements. Elements are of any type that travels (serialize.h); plain data is fetched once, directly from the other
// places' memory. Each member uses its own comparison, which may capture; all must define the same order. pre: the
// comparison does not throw; if it does at one member, the others wait for that member.
//
// The functions keep no state, and belong to their place's thread, as all collectives do. Errors: place_lost_error if a
// member is lost, or while a place is lost: the elements passed are gone then; out_of_memory, at every member, if one
// has no room in its segment; bad_argument if another member calls something else. cost: of n elements a member,
// std::sort of them, one copy to the segment and one to the member that gets them (if they are not plain data: a
// message for each member), log2(members) merges of n, some ten samples for each pair of members, seven collectives.
// Source: sorting by regular sampling (Shi and Schaeffer, 1992); equal elements are ordered by member and index.
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

// Sorts all members' elements and returns this member's part. Equal elements may change places. cost: see above.
template <class T, class Compare = std::less<>>
[[nodiscard]] std::vector<T> sort(std::vector<T> mine, Compare before = {}, const team& members = world(),
                                  std::source_location where = std::source_location::current()) {
  return detail::sort_over(
      std::move(mine), [&](T* first, T* last) { std::sort(first, last, std::ref(before)); }, before, members, where);
}

// Sorts as sort(), and keeps equal elements in their order: by member, then by index in that member's vector. cost: as
// sort, with std::stable_sort.
template <class T, class Compare = std::less<>>
[[nodiscard]] std::vector<T> stable_sort(std::vector<T> mine, Compare before = {}, const team& members = world(),
                                         std::source_location where = std::source_location::current()) {
  return detail::sort_over(
      std::move(mine), [&](T* first, T* last) { std::stable_sort(first, last, std::ref(before)); }, before, members,
      where);
}

// Returns true at all members if the concatenation of their elements is sorted, else false. cost: std::is_sorted of
// each member's elements, and an all_gather of two elements.
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
