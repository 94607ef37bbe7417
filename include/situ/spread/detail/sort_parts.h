// The steps of a sort over the members of a team. Part of sort.h.
//
// Elements are ordered by value, then by the member that has them, then by their index there. So no two are equal, a
// cut between two members' parts may lie within a run of equal values, and the sort is stable if each member's own sort
// is.
#pragma once

#include <situ/base/error.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ::detail {

template <class T>
struct sorted_ends {
  bool is_in_order;
  std::vector<T> first_and_last;  // empty if there are no elements
};

// An element's key in the global order.
template <class T>
struct sort_key {
  const T* value;
  std::uint32_t member;
  std::size_t index;
};

// Every sample_step-th element of a member is a sample, so a part's size is off by at most two steps for each member: a
// sixteenth of its size. If there are few elements, all are samples, and the parts are exact.
[[nodiscard]] inline std::size_t sample_step(std::uint64_t elements, std::uint32_t members) noexcept {
  const std::uint64_t of_each = std::max<std::uint64_t>(512, std::uint64_t{32} * members);
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, elements / (of_each * members)));
}

// Returns the cuts of this member's sorted elements: [cuts[i], cuts[i + 1]) go to member i.
template <class T, class Compare>
std::vector<std::size_t> find_cuts(std::span<const T> sorted, Compare& before, const team& members,
                                   const std::source_location& where) {
  const std::uint64_t elements = all_reduce(std::uint64_t{sorted.size()}, std::plus<>{}, members, where);
  const std::size_t step = sample_step(elements, members.size());
  std::vector<T> own;
  for (std::size_t i = step - 1; i < sorted.size(); i += step) own.push_back(sorted[i]);
  const std::vector<std::vector<T>> samples = all_gather(std::move(own), members, where);

  std::vector<sort_key<T>> keys;
  for (std::uint32_t member = 0; member < samples.size(); ++member)
    for (std::size_t i = 0; i < samples[member].size(); ++i)
      keys.push_back({&samples[member][i], member, (i + 1) * step - 1});
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const sort_key<T>& a, const sort_key<T>& b) { return before(*a.value, *b.value); });

  std::vector<std::size_t> cuts{0};
  for (std::uint32_t part = 1; part < members.size() && !keys.empty(); ++part) {
    const sort_key<T>& cut = keys[keys.size() * part / members.size()];
    if (cut.member == members.index()) {
      cuts.push_back(cut.index);
      continue;
    }
    const auto at = members.index() < cut.member
                        ? std::upper_bound(sorted.begin(), sorted.end(), *cut.value, std::ref(before))
                        : std::lower_bound(sorted.begin(), sorted.end(), *cut.value, std::ref(before));
    cuts.push_back(static_cast<std::size_t>(at - sorted.begin()));
  }
  cuts.resize(members.size() + std::size_t{1}, sorted.size());
  return cuts;
}

// Merges adjacent sorted runs, which end at `ends`, in place and stably, pairwise.
template <class T, class Compare>
void merge_runs(std::vector<T>& all, std::vector<std::size_t> ends, Compare& before) {
  const auto at = [&](std::size_t n) { return all.begin() + static_cast<std::ptrdiff_t>(n); };
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t first = 0;
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
      std::inplace_merge(at(first), at(ends[i]), at(ends[i + 1]), std::ref(before));
      merged.push_back(first = ends[i + 1]);
    }
    if (ends.size() % 2 != 0) merged.push_back(ends.back());
    ends = std::move(merged);
  }
}

// This member's elements in its segment, from which the others fetch. The memory stays allocated until the job ends if
// an exception ends its scope, since other members may still be reading it.
template <class T>
struct sort_offer {
  ptr<T> elements;
  std::vector<std::size_t> cuts;
};

[[noreturn]] void throw_no_room_to_sort(const team& members, std::uint32_t member);

// Copies the elements to this place's segment; returns null if the segment has no room.
template <class T>
ptr<T> copy_to_segment(const std::vector<T>& mine) {
  constexpr std::size_t large_bytes = std::size_t{16} << 20;  // as for parts of a distributed_array
  try {
    const ptr<T> copy = situ::allocate<T>(mine.size(), {.huge_pages = mine.size() * sizeof(T) >= large_bytes});
    std::uninitialized_copy(mine.begin(), mine.end(), copy.local());
    return copy;
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory) throw;
    return {};
  }
}

template <class T, class Sort, class Compare>
std::vector<T> sort_plain(std::vector<T> mine, Sort sort, Compare& before, const team& members,
                          const std::source_location& where) {
  sort_offer<T> own{copy_to_segment(mine), {}};
  const std::vector<ptr<T>> all = all_gather(own.elements, members, where);
  if (const auto without = std::find(all.begin(), all.end(), ptr<T>{}); without != all.end()) {
    deallocate(own.elements);
    throw_no_room_to_sort(members, static_cast<std::uint32_t>(without - all.begin()));
  }
  const std::span<T> sorted{own.elements.local(), mine.size()};
  sort(sorted.data(), sorted.data() + sorted.size());
  own.cuts = find_cuts(std::span<const T>{sorted}, before, members, where);
  const std::vector<sort_offer<T>> offers = all_gather(own, members, where);

  const std::uint32_t n = members.size(), me = members.index();
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; const sort_offer<T>& each : offers)
    ends.push_back(end += each.cuts[me + 1] - each.cuts[me]);
  mine.resize(ends.back());
  for (std::uint32_t i = 0; i < n; ++i) {  // each member starts at its neighbour: no member is the first target of all
    const std::uint32_t from = (me + 1 + i) % n;
    const std::size_t begin = from == 0 ? 0 : ends[from - 1];
    get(mine.data() + begin, offers[from].elements + static_cast<std::ptrdiff_t>(offers[from].cuts[me]),
        ends[from] - begin);
  }
  barrier(members, where);
  deallocate(own.elements);
  merge_runs(mine, std::move(ends), before);
  return mine;
}

template <class T, class Sort, class Compare>
std::vector<T> sort_values(std::vector<T> mine, Sort sort, Compare& before, const team& members,
                           const std::source_location& where) {
  sort(mine.data(), mine.data() + mine.size());
  const std::vector<std::size_t> cuts = find_cuts(std::span<const T>{mine}, before, members, where);
  std::vector<std::vector<T>> parts;
  const auto at = [&](std::size_t n) { return std::make_move_iterator(mine.begin() + static_cast<std::ptrdiff_t>(n)); };
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) parts.emplace_back(at(cuts[i]), at(cuts[i + 1]));
  parts = exchange(std::move(parts), members, where);
  mine.clear();
  std::vector<std::size_t> ends;
  for (std::vector<T>& part : parts) {
    mine.insert(mine.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    ends.push_back(mine.size());
  }
  merge_runs(mine, std::move(ends), before);
  return mine;
}

template <class T, class Sort, class Compare>
std::vector<T> sort_over(std::vector<T> mine, Sort sort, Compare& before, const team& members,
                         const std::source_location& where) {
  check_value<T>();
  static_assert(!std::is_same_v<T, bool>, "situ: a std::vector<bool> has no elements to sort: count them");
  if constexpr (is_plain<T> && !holds_choice<T>() && std::is_default_constructible_v<T>) {
    return sort_plain(std::move(mine), sort, before, members, where);
  } else {
    return sort_values(std::move(mine), sort, before, members, where);
  }
}

}  // namespace situ::detail
