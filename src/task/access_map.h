// The accesses of a graph: disjoint intervals of addresses, each with the last unit that writes it and the units that
// read it since. Belongs to the thread that adds units. The map is ordered, so that regions may overlap in any way.
//
// It has two levels: leaves of up to 64 intervals in a sorted array. A sweep removes intervals whose units have all
// ended once there are twice as many intervals as after the last sweep, so the map holds about the memory of the units
// under way. An interval that is declared again with the same bounds is found in a table of beginnings, without a
// search.
//
// Example: after writes [0, 64) by unit 1, reads [32, 96) by unit 2:
//   [0, 32) written by 1    [32, 64) written by 1, read by 2    [64, 96) read by 2
#pragma once

#include <situ/task/access.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace situ::detail {

// The name of a unit in the map: its record, and which use of the record. The use before has ended when a record is
// used again.
struct unit_name {
  std::uint32_t record = none;
  std::uint32_t generation = 0;
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t failed = UINT32_MAX - 1;  // a unit that threw, or never ran because another threw
  friend bool operator==(unit_name, unit_name) = default;
};

struct alignas(64) interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  unit_name writer;
  std::uint32_t readers = 0;
  std::uint32_t room = 0;  // number of readers that `more` can hold
  std::array<unit_name, 2> first_readers;
  unit_name* more = nullptr;  // the readers from the third on
};

class access_map {
 public:
  access_map();
  ~access_map();
  access_map(const access_map&) = delete;
  access_map& operator=(const access_map&) = delete;

  // Visits each interval of [begin, end) in order, and makes those that are missing; splits intervals at both bounds.
  template <class Visit>
  void visit(std::uint64_t begin, std::uint64_t end, Visit visit) {
    if (interval* const known = repeated(begin, end)) return visit(*known);
    for (std::uint64_t at = begin; at != end;) {
      interval& next = interval_at(at, end);
      at = next.end;
      visit(next);
    }
  }

  // Drops ended readers, and intervals without any unit left. has_ended(name): whether the unit needs neither be waited
  // for nor be known.
  template <class HasEnded>
  void sweep(HasEnded has_ended) {
    for (auto& each : leaves_) {
      std::uint32_t kept = 0;
      for (std::uint32_t i = 0; i < each->count; ++i) {
        interval& it = *each->intervals[i];
        drop_readers(it, has_ended);
        if (it.readers == 0 && (it.writer.record == unit_name::none || has_ended(it.writer))) {
          give_back(it);
          continue;
        }
        each->begins[kept] = each->begins[i];
        each->intervals[kept++] = &it;
      }
      each->count = kept;
    }
    pack();
  }
  // Replaces the name of each unit by rename(name).
  template <class Rename>
  void rename(Rename rename) {
    for (auto& each : leaves_)
      for (std::uint32_t i = 0; i < each->count; ++i) {
        interval& it = *each->intervals[i];
        it.writer = rename(it.writer);
        for (std::uint32_t r = 0; r < it.readers; ++r) reader_of(it, r) = rename(reader_of(it, r));
      }
  }
  [[nodiscard]] bool wants_sweep() const noexcept { return count_ > sweep_at_; }
  void clear();

  // Adds a reader; drops ended readers before the list grows.
  template <class HasEnded>
  static void add_reader(interval& it, unit_name reader, HasEnded has_ended) {
    if (it.readers >= 2 && it.readers - 2 == it.room) {
      drop_readers(it, has_ended);
      if (it.readers >= 2 && 2 * (it.readers - 2) >= it.room) grow(it);
    }
    reader_of(it, it.readers++) = reader;
  }
  [[nodiscard]] static unit_name& reader_of(interval& it, std::uint32_t i) noexcept {
    return i < 2 ? it.first_readers[i] : it.more[i - 2];
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t leaf_room = 64;
  static constexpr std::size_t table_size = 4096;
  struct leaf {
    std::uint32_t count = 0;
    std::array<std::uint64_t, leaf_room> begins;
    std::array<interval*, leaf_room> intervals;
  };

  template <class HasEnded>
  static void drop_readers(interval& it, HasEnded has_ended) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < it.readers; ++i)
      if (!has_ended(reader_of(it, i))) reader_of(it, kept++) = reader_of(it, i);
    it.readers = kept;
  }
  static void grow(interval& it);

  [[nodiscard]] static std::size_t slot_of(std::uint64_t begin) noexcept {
    return (begin * 0x9e37'79b9'7f4a'7c15U) >> 52;
  }
  [[nodiscard]] interval* repeated(std::uint64_t begin, std::uint64_t end) const noexcept {
    interval* const it = table_[slot_of(begin)];
    return it != nullptr && it->begin == begin && it->end == end ? it : nullptr;
  }
  // Returns the interval that begins at `at` and ends at `end` or before; splits or makes one if needed.
  interval& interval_at(std::uint64_t at, std::uint64_t end);
  // Returns the last leaf that begins at `at` or before, else 0.
  [[nodiscard]] std::size_t leaf_of(std::uint64_t at) noexcept;
  interval& insert(std::uint64_t begin, std::uint64_t end, const interval* like);
  interval& take();
  void give_back(interval& it) noexcept;
  void pack();

  std::vector<std::uint64_t> firsts_;  // of each leaf: the lowest address at which its first interval may begin
  std::vector<std::unique_ptr<leaf>> leaves_;
  std::array<std::size_t, 2> recent_{};  // the leaves of the last look-ups
  std::size_t count_ = 0;
  std::size_t sweep_at_ = 1024;
  std::array<interval*, table_size> table_{};  // by beginning
  std::vector<std::unique_ptr<interval[]>> slabs_;
  std::vector<interval*> free_;
};

}  // namespace situ::detail
