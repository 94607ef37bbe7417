// The walk over a graph that finds its objects: Cheney's, with the image as its own queue (docs/design/graph.md).
//
// The image, the lists and the counters belong to the plan, whose friend this class is; the plan chooses the copy map.
// Checked: every source is checked against the segments before it is read.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "graph/plan.h"
#include "graph/read_window.h"

namespace situ::detail {

// up to this number a linear search is used: a graph of one object touches no page of the side table
inline constexpr std::size_t few_objects = 1;
inline constexpr std::size_t few_pointers = 16;       // of one object, for the same reason
inline constexpr std::size_t least_left_bytes = 256;  // data of this size or more is not copied into the image
static_assert(scanned_run::most_target_units * 8 < least_left_bytes, "what scan_run appends is never left");
inline constexpr std::uint64_t cached_units =
    (std::uint64_t{1} << 20) / 8;                     // an image of at most this size is not prefetched
inline constexpr std::uint64_t group_objects = 16;    // objects that are prefetched together
inline constexpr std::uint64_t slice_objects = 1024;  // objects scanned before the next decision on prefetching

[[noreturn]] void throw_bad_tag(std::uintptr_t object, std::uint64_t tag, const type_descriptor& declared);
[[noreturn]] void throw_bad_choice(const type_descriptor& type, unsigned flag);

// The targets that objects of a type, or the elements of a block, point to, and the distance between them.
struct element_layout {
  const type_descriptor* type = nullptr;  // null: a pointer
  std::uint64_t units = 1;
};
[[nodiscard]] inline element_layout elements_of(const type_descriptor& type) noexcept {
  if (type.kind == object_kind::pointer_block) return {nullptr, 1};
  if (type.kind == object_kind::object_block) return {type.element, type.size / 8};
  return {&type, type.units};
}
[[nodiscard]] inline bool has_nothing_to_scan(const type_descriptor& type) noexcept {
  const element_layout element = elements_of(type);
  // elements of such a size have neither pointers nor transients, which are 8 bytes each and aligned
  if (type.kind == object_kind::object_block && type.size % 8 != 0) return true;
  return type.kind == object_kind::data_block ||
         (element.type != nullptr && element.type->pointers.empty() && element.type->others.empty());
}

// Copies an object, a small one word by word, without a call. The rest of the object's last unit is set to zero.
inline void copy_object(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  if (bytes % 8 != 0) {
    store_unit(to + (bytes & ~std::uint64_t{7}), 0);
    std::memcpy(to, from, bytes);
  } else if (bytes > 128) {
    std::memcpy(to, from, bytes);
  } else {
    for (std::uint64_t i = 0; i < bytes; i += 8) store_unit(to + i, load_unit(from + i));
  }
}

template <class Map, bool Checked>
class graph_walk {
 public:
  graph_walk(graph_plan& plan, Map& map) noexcept : plan_{plan}, map_{map} {}

  // Returns the offset of the object's copy; appends the object if it is new.
  std::uint64_t reach(std::uintptr_t address, const type_descriptor* type) {
    if (address == 0) return 0;
    expect_read(address, type->size);
    if (type->is_tagged) [[unlikely]]
      type = &dynamic_type(address, *type);
    const std::uint64_t fresh = align_units(plan_.next_, type->alignment_units);
    const std::uint64_t at = map_.put(address, static_cast<std::uint32_t>(fresh));
    if (at == fresh) {
      append_object(address, *type, fresh);
      if (type->is_tagged) [[unlikely]]
        list_tagged(*type);
    } else if (type->starts_with_class) [[unlikely]] {
      expect_whole(at, address, *type);
    }
    return at;
  }

  // Scans while the graph is small; returns whether that was all of it.
  [[nodiscard]] bool finish_few() {
    while (find_next()) {
      const std::size_t now = plan_.scanned_runs_;
      const type_descriptor& type = *plan_.runs_[now].type;
      const element_layout element = elements_of(type);
      if (element.type != nullptr && element.type->pointers.size() > few_pointers) return false;
      while (plan_.scan_ < plan_.end_of(now)) {
        if (map_.size() > few_objects || is_given_up()) return false;
        step(type, element);
      }
    }
    return true;
  }

  // Scans reached objects, and the objects that they reach, until none is left or the copy is given up.
  void finish() {
    while (!is_given_up() && find_next()) {
      if constexpr (std::is_same_v<Map, side_table>) {
        const graph_plan::scan_method& method = plan_.method_of(*plan_.runs_[plan_.scanned_runs_].type, Checked);
        if (method.function != nullptr && may_scan_quickly()) {
          scan_quickly(method);
          continue;
        }
      }
      const std::size_t now = plan_.scanned_runs_;
      const type_descriptor& type = *plan_.runs_[now].type;
      const element_layout element = elements_of(type);
      while (plan_.scan_ < plan_.end_of(now) && !is_given_up()) step(type, element);
    }
  }

 private:
  // Checks a source, before its bytes are first read.
  void expect_read(std::uintptr_t address, std::uint64_t bytes) {
    reads_.check(address, bytes);
    if constexpr (has_coherent_places) return;
    const auto* const source = reinterpret_cast<const void*>(address);
    if (Checked)
      flush(source, bytes);  // part of it may be this place's own memory
    else if (plan_.writes_back_)
      write_back(source, bytes);
  }
  // Returns whether the quick loops may be used: they check no source on its own.
  [[nodiscard]] bool may_scan_quickly() const noexcept {
    return has_coherent_places || !(Checked || plan_.writes_back_);
  }

  void append_object(std::uintptr_t address, const type_descriptor& type, std::uint64_t at) {
    if (at + type.units > plan_.room_) [[unlikely]]
      plan_.make_room(at + type.units);
    if (plan_.runs_.size() == 0 || plan_.runs_.back().type != &type || at != plan_.next_ || is_left(type))
      plan_.begin_run(at, type);
    plan_.next_ = at + type.units;
    if (type.has_values) [[unlikely]]
      list_values(address, type, 1, at);
    const auto* const source = reinterpret_cast<const std::byte*>(address);
    if (!is_left(type)) return copy_object(plan_.image_ + at * 8, source, type.size);
    leave(at, source, type.size);
    for (const simple_pointer& each : type.pointers)
      store_unit(plan_.image_ + at * 8 + each.offset, load_unit(source + each.offset));
  }
  // Returns whether data of the type stays at the source until the end. Not if the image is the copy: then it is copied
  // once in any case.
  [[nodiscard]] bool is_left(const type_descriptor& type) const noexcept {
    return type.size >= least_left_bytes && !plan_.is_in_place_ && type.others.empty() &&
           type.pointers.size() <= type.units / 8;
  }

  // Checks that an object was not met first as its first member: both have one address, and one entry in the map. If
  // the member was met first, only the member was copied.
  [[gnu::noinline]] void expect_whole(std::uint64_t at, std::uintptr_t address, const type_descriptor& type) const {
    const graph_plan::run* const begin = plan_.runs_.data();
    const graph_plan::run* const after =
        std::upper_bound(begin, begin + plan_.runs_.size(), at,
                         [](std::uint64_t unit, const graph_plan::run& each) { return unit < each.begin; });
    const type_descriptor& found = *after[-1].type;
    if (&found == &type || (found.starts_with_class && found.size >= type.size)) return;
    throw_error(errc::bad_argument,
                fmt::format("the object at {:#x} is a {}, but is met first by a pointer to its first part, a {}, and "
                            "copied as that: make such pointers point to the {}, or "
                            "meet it by one of those first",
                            address, type.name, found.name, type.name));
  }

  [[gnu::noinline]] void list_tagged(const type_descriptor& type) const {
    std::vector<const type_descriptor*>& known = plan_.tagged_types_;
    if (std::find(known.begin(), known.end(), &type) == known.end()) known.push_back(&type);
  }

  [[gnu::noinline]] const type_descriptor& dynamic_type(std::uintptr_t address, const type_descriptor& declared) {
    const std::uint64_t tag = load_unit(reinterpret_cast<const std::byte*>(address));
    const type_descriptor* const type = find_tagged(tag);
    if (type == nullptr || !derives_from(*type, declared)) throw_bad_tag(address, tag, declared);
    expect_read(address, type->size);
    return *type;
  }

  [[gnu::noinline]] void list_values(std::uintptr_t address, const type_descriptor& type, std::uint64_t count,
                                     std::uint64_t at) const {
    if constexpr (Checked) throw values_met{};
    plan_.values_.reserve_more(1);
    plan_.values_.push({at, {reinterpret_cast<std::byte*>(address), &type, count}});
  }

  void leave(std::uint64_t at, const std::byte* source, std::uint64_t bytes) {
    plan_.left_.reserve_more(1);
    plan_.left_.push({static_cast<std::uint32_t>(at), bytes, source});
  }

  // Appends the elements that an array descriptor owns. No other pointer refers to them, so they need no entry in the
  // map.
  std::uint64_t reach_block(std::uintptr_t address, std::uint64_t count, bool terminated,
                            const type_descriptor& block) {
    const std::uint64_t at = align_units(plan_.next_, block.alignment_units);
    if (count > (std::uint64_t{1} << 40) / block.size)
      throw_error(
          errc::bad_argument,
          fmt::format(
              "a container at {:#x} says that it holds {} elements of {} bytes: it was never constructed, or is gone",
              address, count, block.size));
    const std::uint64_t bytes = (count + terminated) * block.size;
    expect_read(address, bytes);
    if (at + bytes / 8 > plan_.stop_at_) {  // give up before anything else is scanned
      plan_.next_ = at + (bytes + 7) / 8;
      return at;
    }
    if (at + (bytes + 7) / 8 > plan_.room_) plan_.make_room(at + (bytes + 7) / 8);
    plan_.begin_run(at, block);
    plan_.next_ = at + (bytes + 7) / 8;
    if (block.has_values) list_values(address, *block.element, count, at);
    const auto* const source = reinterpret_cast<const std::byte*>(address);
    if (bytes >= least_left_bytes && !plan_.is_in_place_ && has_nothing_to_scan(block)) {
      leave(at, source, bytes);
    } else {
      copy_object(plan_.image_ + at * 8, source, bytes);
    }
    return at;
  }

  // Loads a word of the image by its offset, since the image may move when an object is appended.
  [[nodiscard]] std::uint64_t word_at(std::uint64_t at) const noexcept { return load_unit(plan_.image_ + at); }
  void set_pointer(std::uint64_t at, std::uint64_t place) const noexcept {
    store_unit(plan_.image_ + at, place == 0 ? 0 : plan_.pointer_base_ + place * 8);
  }

  void scan_pointer(std::uint64_t at, const type_descriptor* target) {
    const std::uint64_t word = word_at(at);
    if (word != 0) set_pointer(at, reach(word, target));
  }

  void scan_object(std::uint64_t object, const type_descriptor& type) {
    for (const simple_pointer& each : type.pointers) scan_pointer(object + each.offset, each.target);
    if (!type.others.empty()) scan_others(object, type, type.others);
  }

  void scan_others(std::uint64_t object, const type_descriptor& type, const std::vector<op>& ops) {
    for (const op& each : ops) {
      const std::uint64_t at = object + each.offset;
      switch (each.kind) {
        case op_kind::pointer: scan_pointer(at, each.target); break;
        case op_kind::array: scan_array(at, each); break;
        case op_kind::transient: std::memset(plan_.image_ + at, 0, each.bytes); break;
        case op_kind::value: break;  // copied at the end
        case op_kind::choice: {
          const auto flag = static_cast<unsigned>(plan_.image_[at]);
          if (flag >= each.cases->alternatives.size()) throw_bad_choice(type, flag);
          scan_others(object, type, each.cases->alternatives[flag]);  // as deep as types are nested
          break;
        }
      }
    }
  }

  // Scans a container. An empty container owns no memory in the copy, whatever the capacity of the original.
  void scan_array(std::uint64_t at, const op& each) {
    const std::uint64_t count = word_at(at + 8);
    std::uint64_t capacity = 0;
    if (count == 0) {
      store_unit(plan_.image_ + at, 0);
    } else {
      set_pointer(at, reach_block(word_at(at), count, each.terminated, *each.target));
      capacity = array_descriptor::in_arena | (count + each.terminated) * each.target->size;
    }
    store_unit(plan_.image_ + at + 16, capacity);
  }

  // Moves to the next object, or element of a block, to scan. Returns false if none is left.
  bool find_next() {
    while (plan_.scanned_runs_ != plan_.runs_.size()) {
      const graph_plan::run& now = plan_.runs_[plan_.scanned_runs_];
      const std::uint64_t end = plan_.end_of(plan_.scanned_runs_);
      plan_.scan_ = std::max<std::uint64_t>(plan_.scan_, now.begin);
      if (plan_.scan_ < end && !has_nothing_to_scan(*now.type)) return true;
      if (plan_.scanned_runs_ + 1 == plan_.runs_.size()) return false;  // the last run may still grow
      ++plan_.scanned_runs_;
    }
    return false;
  }

  void step(const type_descriptor& type, element_layout element) {
    const std::uint64_t at = plan_.scan_ * 8;
    plan_.scan_ += element.units;
    if (element.type == nullptr) return scan_pointer(at, type.element);
    scan_object(at, *element.type);
  }

  [[nodiscard]] bool is_given_up() const noexcept { return plan_.next_ > plan_.stop_at_; }

  // Scans the rest of a run by scan_run.h. Its targets are small, so they are never left at the source.
  void scan_quickly(const graph_plan::scan_method& method) {
    if (plan_.runs_.back().type != method.target) plan_.begin_run(plan_.next_, *method.target);
    scanned_run job = method.job;
    job.scan = plan_.scan_;
    const std::size_t now = plan_.scanned_runs_;
    std::uint64_t prefetched = job.scan;
    for (std::uint64_t end = plan_.end_of(now); job.scan < end && !is_given_up(); end = plan_.end_of(now)) {
      const std::uint64_t most = std::uint64_t{job.pointers} * job.target_units;
      if (plan_.next_ + most > plan_.room_) plan_.make_room(plan_.next_ + most);
      job.memory = plan_.image_;
      job.pointer_base = plan_.pointer_base_;
      job.next = plan_.next_;
      job.room = plan_.room_;
      job.stop = end_of_slice(job, now, prefetched);
      plan_.next_ = plan_.room_;  // if this throws, the map holds no larger value
      method.function(job, map_);
      plan_.next_ = job.next;
    }
    plan_.scan_ = job.scan;
  }

  // Returns the end of the next slice to scan. If many objects wait, their targets are fetched while the objects before
  // them are scanned; if few do, as in a list, there is nothing to prefetch.
  [[nodiscard]] std::uint64_t end_of_slice(const scanned_run& job, std::size_t now,
                                           std::uint64_t& prefetched) const noexcept {
    const std::uint64_t end = plan_.end_of(now);
    const std::uint64_t group = group_objects * job.stride;
    if (plan_.next_ >= cached_units && job.scan + 2 * group <= end) {
      prefetch_targets(job, std::max(prefetched, job.scan), job.scan + 2 * group, map_);
      prefetched = job.scan + 2 * group;
      return job.scan + group;
    }
    const std::uint64_t slice =
        job.scan + (plan_.stop_at_ == graph_plan::no_stop ? slice_objects : group_objects) * job.stride;
    return now + 1 == plan_.runs_.size() ? slice : std::min(end, slice);
  }

  graph_plan& plan_;
  Map& map_;
  std::conditional_t<Checked, read_window, unchecked_reads> reads_;
};

}  // namespace situ::detail
