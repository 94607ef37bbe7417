#include "graph/plan.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/gaps.h"

namespace situ::detail {
namespace {

// up to here, a linear search: a graph of one object touches no page of the side table
constexpr std::size_t few_objects = 1;
constexpr std::size_t few_pointers = 16;                        // of one object, likewise
constexpr std::size_t kept_list_bytes = std::size_t{64} << 20;  // of each list, between graphs
constexpr std::size_t least_left_bytes = 256;                   // data from here on is not copied twice
static_assert(scanned_run::most_target_units * 8 < least_left_bytes, "what scan_run appends is never left");
constexpr std::uint64_t cached_units = (std::uint64_t{1} << 20) / 8;  // an image of up to so many needs no prefetching
constexpr std::uint64_t group_objects = 16;                           // that are prefetched together
constexpr std::uint64_t slice_objects = 1024;  // scanned until it is looked again whether prefetching pays

[[noreturn]] void throw_bad_tag(std::uintptr_t object, std::uint64_t tag, const type_descriptor& declared) {
  throw_error(errc::bad_argument, fmt::format("the object at {:#x} is declared as {} but its header ({:#x}) names no "
                                              "type that derives from it: it was never constructed, or is gone",
                                              object, declared.name, tag));
}
[[noreturn]] void throw_bad_choice(const type_descriptor& type, unsigned flag) {
  throw_error(errc::bad_argument, fmt::format("an object of type {} holds an optional or variant in state {}, which "
                                              "there is not: it was never constructed, or is gone",
                                              type.name, flag));
}

// What objects of a type, or the elements of a block, point to, and how far they lie apart.
struct element_layout {
  const type_descriptor* type = nullptr;  // null: a pointer
  std::uint64_t units = 1;
};
[[nodiscard]] element_layout elements_of(const type_descriptor& type) noexcept {
  if (type.shape == shape::pointer_block) return {nullptr, 1};
  if (type.shape == shape::object_block) return {type.element, type.size / 8};
  return {&type, type.units};
}
[[nodiscard]] bool has_nothing_to_scan(const type_descriptor& type) noexcept {
  const element_layout element = elements_of(type);
  // neither pointers nor transients: those are 8 bytes each, and so aligned
  if (type.shape == shape::object_block && type.size % 8 != 0) return true;
  return type.shape == shape::data_block ||
         (element.type != nullptr && element.type->pointers.empty() && element.type->others.empty());
}

// Small sizes in words, without a call. What follows the object in its last unit is zero.
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

}  // namespace

// --- the image ---

void graph_plan::make_room(std::uint64_t units) {
  if (is_in_place_ && units <= place_units_) {
    room_ = std::min<std::uint64_t>(place_units_, front_.prepare(units * 8) / 8);
    return;
  }
  if (units > side_table::most_values)
    throw_error(errc::bad_argument,
                fmt::format("a graph of more than {} GiB: send it in parts", side_table::most_values >> 27));
  auto* const memory = static_cast<std::byte*>(image_memory_.at(0, units * 8));
  if (is_in_place_) std::memcpy(memory, image_, next_ * 8);  // it was to lie where it has no room
  image_ = memory;
  is_in_place_ = false;
  room_ = std::min<std::uint64_t>(side_table::most_values, image_memory_.usable_bytes() / 8);
}

void graph_plan::begin_run(std::uint64_t at, const type_descriptor& type) {
  if (runs_.size() != 0) end_run(next_);
  runs_.reserve_more(1);
  runs_.push({static_cast<std::uint32_t>(at), 0, &type});
  alignment_units_ = std::max(alignment_units_, type.alignment_units);
}

void graph_plan::end_run(std::uint64_t end) noexcept {
  run& last = runs_.back();
  last.end = static_cast<std::uint32_t>(end);
  const bool is_object = last.type->shape == shape::object;
  const std::uint64_t objects = is_object ? (last.end - last.begin) / std::max(last.type->units, 1U) : 1;
  objects_ += objects;
  if (last.type->has_containers) finalizer_words_ += is_object ? objects : 2;
}

const graph_plan::scan_method& graph_plan::method_of(const type_descriptor& type, bool checked) {
  const std::size_t at = std::size_t{type.index} * 2 + (checked ? 1 : 0);
  if (at >= methods_.size()) methods_.resize(at + 1);
  scan_method& method = methods_[at];
  if (method.is_known) return method;
  method.is_known = true;
  const element_layout element = elements_of(type);
  scanned_run& job = method.job;
  job.stride = static_cast<std::uint32_t>(element.units);
  if (element.type == nullptr) {
    job.pointers = 1;
    method.target = type.element;
  } else {
    const std::vector<simple_pointer>& pointers = element.type->pointers;
    if (pointers.empty() || pointers.size() > scanned_run::most_pointers || !element.type->others.empty())
      return method;
    for (const simple_pointer& each : pointers) {
      if (each.target != pointers[0].target) return method;
      job.offsets[job.pointers++] = each.offset;
    }
    method.target = pointers[0].target;
  }
  const type_descriptor& target = *method.target;
  job.target_units = target.units;
  if (target.is_tagged || target.starts_with_class || target.alignment != 8 ||
      target.units > scanned_run::most_target_units)
    return method;
  method.function = checked ? find_scan_run<true>(job.pointers, job.target_units)
                            : find_scan_run<false>(job.pointers, job.target_units);
  return method;
}

graph_plan::expectation& graph_plan::expected(const type_descriptor& root) {
  if (root.index >= expected_.size()) expected_.resize(root.index + 1);
  return expected_[root.index];
}

void graph_plan::clear() noexcept {
  image_ = nullptr;
  is_in_place_ = false;
  room_ = 0;
  pointer_base_ = 0;
  if (next_ * 8 > kept_list_bytes) image_memory_.shrink(kept_list_bytes);
  runs_.clear(kept_list_bytes);
  left_.clear(kept_list_bytes);
  roots_.clear();
  tagged_types_.clear();
  next_ = first_unit;
  objects_ = 0;
  finalizer_words_ = 0;
  alignment_units_ = 2;
  scanned_runs_ = 0;
  scan_ = 0;
}

// --- discovery ---

// The image, lists and counters are the plan's; the map is chosen outside.
template <class Map, bool Checked>
struct graph_plan::walk {
  graph_plan& plan;
  Map& map;

  static void check(std::uintptr_t address, std::uint64_t bytes) {
    if constexpr (Checked) check_access(access::get, address, bytes);
  }

  // The place of the object's copy; it is appended if it was not known.
  std::uint64_t reach(std::uintptr_t address, const type_descriptor* type) {
    if (address == 0) return 0;
    check(address, type->size);
    if (type->is_tagged) [[unlikely]]
      type = &dynamic_type(address, *type);
    const std::uint64_t fresh = align_units(plan.next_, type->alignment_units);
    const std::uint64_t at = map.put(address, static_cast<std::uint32_t>(fresh));
    if (at == fresh) {
      append_object(address, *type, fresh);
      if (type->is_tagged) [[unlikely]]
        list_tagged(*type);
    } else if (type->starts_with_class) [[unlikely]] {
      expect_whole(at, address, *type);
    }
    return at;
  }

  void append_object(std::uintptr_t address, const type_descriptor& type, std::uint64_t at) {
    if (at + type.units > plan.room_) [[unlikely]]
      plan.make_room(at + type.units);
    if (plan.runs_.size() == 0 || plan.runs_.back().type != &type || at != plan.next_ || is_left(type))
      plan.begin_run(at, type);
    plan.next_ = at + type.units;
    const auto* const source = reinterpret_cast<const std::byte*>(address);
    if (!is_left(type)) return copy_object(plan.image_ + at * 8, source, type.size);
    leave(at, source, type.size);
    for (const simple_pointer& each : type.pointers)
      store_unit(plan.image_ + at * 8 + each.offset, load_unit(source + each.offset));
  }
  // Where the image is the copy, nothing needs to be left: it would be copied once in any case.
  [[nodiscard]] bool is_left(const type_descriptor& type) const noexcept {
    return type.size >= least_left_bytes && !plan.is_in_place_ && type.others.empty() &&
           type.pointers.size() <= type.units / 8;
  }

  // An object and its first member have one address, and one entry in the map. If the member was met first, its copy is
  // all that there is.
  [[gnu::noinline]] void expect_whole(std::uint64_t at, std::uintptr_t address, const type_descriptor& type) const {
    const run* const begin = plan.runs_.data();
    const run* const after = std::upper_bound(begin, begin + plan.runs_.size(), at,
                                              [](std::uint64_t unit, const run& each) { return unit < each.begin; });
    const type_descriptor& found = *after[-1].type;
    if (&found == &type || (found.starts_with_class && found.size >= type.size)) return;
    throw_error(errc::bad_argument,
                fmt::format("the object at {:#x} is a {}, but is met first by a pointer to its first part, a {}, and "
                            "copied as that: make such pointers point to the {}, or "
                            "meet it by one of those first",
                            address, type.name, found.name, type.name));
  }

  [[gnu::noinline]] void list_tagged(const type_descriptor& type) const {
    std::vector<const type_descriptor*>& known = plan.tagged_types_;
    if (std::find(known.begin(), known.end(), &type) == known.end()) known.push_back(&type);
  }

  [[gnu::noinline]] const type_descriptor& dynamic_type(std::uintptr_t address, const type_descriptor& declared) {
    const std::uint64_t tag = load_unit(reinterpret_cast<const std::byte*>(address));
    const type_descriptor* const type = find_tagged(tag);
    if (type == nullptr || !derives_from(*type, declared)) throw_bad_tag(address, tag, declared);
    check(address, type->size);
    return *type;
  }

  void leave(std::uint64_t at, const std::byte* source, std::uint64_t bytes) {
    plan.left_.reserve_more(1);
    plan.left_.push({static_cast<std::uint32_t>(at), bytes, source});
  }

  // The elements that an array descriptor owns. Nothing else points to them, so they need no place in the map.
  std::uint64_t reach_block(std::uintptr_t address, std::uint64_t count, bool terminated,
                            const type_descriptor& block) {
    const std::uint64_t at = align_units(plan.next_, block.alignment_units);
    if (count > (std::uint64_t{1} << 40) / block.size)
      throw_error(
          errc::bad_argument,
          fmt::format(
              "a container at {:#x} says that it holds {} elements of {} bytes: it was never constructed, or is gone",
              address, count, block.size));
    const std::uint64_t bytes = (count + terminated) * block.size;
    check(address, bytes);
    if (at + bytes / 8 > plan.stop_at_) {  // given up before anything else is scanned
      plan.next_ = at + (bytes + 7) / 8;
      return at;
    }
    if (at + (bytes + 7) / 8 > plan.room_) plan.make_room(at + (bytes + 7) / 8);
    plan.begin_run(at, block);
    plan.next_ = at + (bytes + 7) / 8;
    const auto* const source = reinterpret_cast<const std::byte*>(address);
    if (bytes >= least_left_bytes && !plan.is_in_place_ && has_nothing_to_scan(block)) {
      leave(at, source, bytes);
    } else {
      copy_object(plan.image_ + at * 8, source, bytes);
    }
    return at;
  }

  // Bytes are named by where they lie in the image, since the image may move when something is appended.
  [[nodiscard]] std::uint64_t word_at(std::uint64_t at) const noexcept { return load_unit(plan.image_ + at); }
  void set_pointer(std::uint64_t at, std::uint64_t place) const noexcept {
    store_unit(plan.image_ + at, place == 0 ? 0 : plan.pointer_base_ + place * 8);
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
        case op_kind::transient: std::memset(plan.image_ + at, 0, each.bytes); break;
        case op_kind::choice: {
          const auto flag = static_cast<unsigned>(plan.image_[at]);
          if (flag >= each.cases->alternatives.size()) throw_bad_choice(type, flag);
          scan_others(object, type, each.cases->alternatives[flag]);  // as deep as types are nested
          break;
        }
      }
    }
  }

  // An empty container owns nothing in the copy, whatever its original has room for: no memory, so no capacity.
  void scan_array(std::uint64_t at, const op& each) {
    const std::uint64_t count = word_at(at + 8);
    std::uint64_t capacity = 0;
    if (count == 0) {
      store_unit(plan.image_ + at, 0);
    } else {
      set_pointer(at, reach_block(word_at(at), count, each.terminated, *each.target));
      capacity = array_descriptor::in_arena | (count + each.terminated) * each.target->size;
    }
    store_unit(plan.image_ + at + 16, capacity);
  }

  // Goes to what is to be scanned next: an object, or an element of a block. False where nothing is left.
  bool find_next() {
    while (plan.scanned_runs_ != plan.runs_.size()) {
      const run& now = plan.runs_[plan.scanned_runs_];
      const std::uint64_t end = plan.end_of(plan.scanned_runs_);
      plan.scan_ = std::max<std::uint64_t>(plan.scan_, now.begin);
      if (plan.scan_ < end && !has_nothing_to_scan(*now.type)) return true;
      if (plan.scanned_runs_ + 1 == plan.runs_.size()) return false;  // it may still grow
      ++plan.scanned_runs_;
    }
    return false;
  }

  void step(const type_descriptor& type, element_layout element) {
    const std::uint64_t at = plan.scan_ * 8;
    plan.scan_ += element.units;
    if (element.type == nullptr) return scan_pointer(at, type.element);
    scan_object(at, *element.type);
  }

  // While the graph is small.
  [[nodiscard]] bool finish_few() {
    while (find_next()) {
      const std::size_t now = plan.scanned_runs_;
      const type_descriptor& type = *plan.runs_[now].type;
      const element_layout element = elements_of(type);
      if (element.type != nullptr && element.type->pointers.size() > few_pointers) return false;
      while (plan.scan_ < plan.end_of(now)) {
        if (map.size() > few_objects || is_given_up()) return false;
        step(type, element);
      }
    }
    return true;
  }

  [[nodiscard]] bool is_given_up() const noexcept { return plan.next_ > plan.stop_at_; }

  void finish() {
    while (!is_given_up() && find_next()) {
      if constexpr (std::is_same_v<Map, side_table>) {
        const scan_method& method = plan.method_of(*plan.runs_[plan.scanned_runs_].type, Checked);
        if (method.function != nullptr) {
          scan_quickly(method);
          continue;
        }
      }
      const std::size_t now = plan.scanned_runs_;
      const type_descriptor& type = *plan.runs_[now].type;
      const element_layout element = elements_of(type);
      while (plan.scan_ < plan.end_of(now) && !is_given_up()) step(type, element);
    }
  }

  // The rest of a run, by scan_run.h. Targets are never left: they are small.
  void scan_quickly(const scan_method& method) {
    if (plan.runs_.back().type != method.target) plan.begin_run(plan.next_, *method.target);
    scanned_run job = method.job;
    job.scan = plan.scan_;
    const std::size_t now = plan.scanned_runs_;
    std::uint64_t prefetched = job.scan;
    for (std::uint64_t end = plan.end_of(now); job.scan < end && !is_given_up(); end = plan.end_of(now)) {
      const std::uint64_t most = std::uint64_t{job.pointers} * job.target_units;
      if (plan.next_ + most > plan.room_) plan.make_room(plan.next_ + most);
      job.memory = plan.image_;
      job.pointer_base = plan.pointer_base_;
      job.next = plan.next_;
      job.room = plan.room_;
      job.stop = end_of_slice(job, now, prefetched);
      plan.next_ = plan.room_;  // should it throw, the map holds no larger value
      method.function(job, map);
      plan.next_ = job.next;
    }
    plan.scan_ = job.scan;
  }

  // How far to scan now. Where many objects wait, their targets are fetched while those before them are scanned; where
  // few do, as in a list, nothing can be known ahead.
  [[nodiscard]] std::uint64_t end_of_slice(const scanned_run& job, std::size_t now,
                                           std::uint64_t& prefetched) const noexcept {
    const std::uint64_t end = plan.end_of(now);
    const std::uint64_t group = group_objects * job.stride;
    if (plan.next_ >= cached_units && job.scan + 2 * group <= end) {
      prefetch_targets(job, std::max(prefetched, job.scan), job.scan + 2 * group, map);
      prefetched = job.scan + 2 * group;
      return job.scan + group;
    }
    const std::uint64_t slice = job.scan + (plan.stop_at_ == no_stop ? slice_objects : group_objects) * job.stride;
    return now + 1 == plan.runs_.size() ? slice : std::min(end, slice);
  }
};

void graph_plan::discover(const graph_root* roots, std::size_t count, copy_map map, source_check check,
                          std::span<std::byte> place, write_front front) {
  clear();
  if (place.size() >= first_unit * 8) {
    image_ = place.data();
    is_in_place_ = true;
    front_ = front;
    place_units_ = std::min<std::uint64_t>(side_table::most_values, place.size() / 8);
    make_room(first_unit);
    pointer_base_ = reinterpret_cast<std::uintptr_t>(place.data());
  }
  if (check == source_check::segments) {
    discover_with<true>(roots, count, map);
  } else {
    discover_with<false>(roots, count, map);
  }
  if (runs_.size() != 0) end_run(next_);
}

bool graph_plan::discover_small(const graph_root* roots, std::size_t count, std::uint64_t most_bytes) {
  struct limit {
    std::uint64_t& units;
    ~limit() { units = no_stop; }
  } const until_the_end{stop_at_ = most_bytes / 8};
  discover(roots, count, copy_map::automatic, source_check::none);
  const bool is_small = next_ <= stop_at_;
  if (!is_small) clear();
  return is_small;
}

namespace {
thread_local copy_maps thread_maps;
}

template <bool Checked>
void graph_plan::discover_with(const graph_root* roots, std::size_t count, copy_map map) {
  copy_maps& maps = thread_maps;
  struct forget {
    const graph_plan& plan;
    copy_maps& maps;
    ~forget() {
      maps.side.clear(static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.next_, side_table::most_values)));
      maps.linear.clear();
    }
  } const at_end{*this, maps};
  const auto walk_with = [&](auto& with) {
    return walk<std::remove_reference_t<decltype(with)>, Checked>{*this, with};
  };
  const auto begin = [&](auto& with) {
    for (std::size_t i = 0; i < count; ++i)
      roots_.push_back(static_cast<std::uint32_t>(
          walk_with(with).reach(reinterpret_cast<std::uintptr_t>(roots[i].object), roots[i].type)));
  };
  if (map == copy_map::linear || map == copy_map::automatic) {
    begin(maps.linear);
    if (map == copy_map::linear) return walk_with(maps.linear).finish();
    if (walk_with(maps.linear).finish_few()) return;
  }
  if (map != copy_map::hash && maps.side.prepare()) {
    if (map == copy_map::automatic) {
      maps.linear.move_to(maps.side);
    } else {
      begin(maps.side);
    }
    return walk_with(maps.side).finish();
  }
  maps.hash.clear();
  if (map == copy_map::automatic) {
    maps.linear.move_to(maps.hash);
  } else {
    begin(maps.hash);
  }
  walk_with(maps.hash).finish();
}

// --- writing ---

// Goes along the runs.
struct graph_plan::writer {
  const graph_plan& plan;
  std::byte* const copy;
  const std::uint64_t shift;  // of pointers
  std::uint64_t* finalizer;
  std::size_t left = 0;

  void relocate(std::byte* at) const noexcept {
    const std::uint64_t place = load_unit(at);
    store_unit(at, place == 0 ? 0 : shift + place);
  }

  void relocate_object(std::byte* object, const type_descriptor& type) const noexcept {
    for (const simple_pointer& each : type.pointers) relocate(object + each.offset);
    if (!type.others.empty()) relocate_others(object, type.others);
  }

  void relocate_others(std::byte* object, const std::vector<op>& ops) const noexcept {
    for (const op& each : ops) {
      if (each.kind == op_kind::pointer || each.kind == op_kind::array) {
        relocate(object + each.offset);
      } else if (each.kind == op_kind::choice) {
        relocate_others(object, each.cases->alternatives[static_cast<unsigned>(object[each.offset])]);
      }
    }
  }

  void write_objects(const run& now) const noexcept {
    const std::uint64_t bytes = std::uint64_t{now.end - now.begin} * 8;
    std::byte* const to = copy + std::uint64_t{now.begin} * 8;
    const std::byte* const from = plan.image_ + std::uint64_t{now.begin} * 8;
    if (copy == plan.image_) return;
    if (shift == 0 || has_nothing_to_scan(*now.type)) {
      copy_object(to, from, bytes);
      return;
    }
    const element_layout element = elements_of(*now.type);
    if (element.type == nullptr) return write_words<1, 1>(to, from, bytes, 1, nullptr);
    if (element.units > most_words || element.type->pointers.size() > 4 || !element.type->others.empty())
      return write_chunks(now, element);
    const simple_pointer* const pointers = element.type->pointers.data();
    switch (element.type->pointers.size()) {
      case 1: return write_words_of<1>(to, from, bytes, element.units, pointers);
      case 2: return write_words_of<2>(to, from, bytes, element.units, pointers);
      case 3: return write_words_of<3>(to, from, bytes, element.units, pointers);
      default: return write_words_of<4>(to, from, bytes, element.units, pointers);
    }
  }

  template <unsigned Pointers>
  void write_words_of(std::byte* to, const std::byte* from, std::uint64_t bytes, std::uint64_t units,
                      const simple_pointer* pointers) const noexcept {
    switch (units) {
      case 1: return write_words<Pointers, 1>(to, from, bytes, units, pointers);
      case 2: return write_words<Pointers, 2>(to, from, bytes, units, pointers);
      case 3: return write_words<Pointers, 3>(to, from, bytes, units, pointers);
      case 4: return write_words<Pointers, 4>(to, from, bytes, units, pointers);
      case 5: return write_words<Pointers, 5>(to, from, bytes, units, pointers);
      case 6: return write_words<Pointers, 6>(to, from, bytes, units, pointers);
      default: return write_words<Pointers, 0>(to, from, bytes, units, pointers);
    }
  }

  // Small objects with so many pointers and nothing else to be changed. pointers null: words that are pointers.
  template <unsigned Pointers, std::uint32_t Units>
  void write_words(std::byte* to, const std::byte* from, std::uint64_t bytes, std::uint64_t units,
                   const simple_pointer* pointers) const noexcept {
    std::array<std::uint64_t, Pointers> offsets{};
    if (pointers != nullptr)
      for (unsigned i = 0; i < Pointers; ++i) offsets[i] = pointers[i].offset;
    const std::uint64_t stride = 8 * (Units != 0 ? Units : units);
    for (const std::byte* const end = from + bytes; from != end; from += stride, to += stride) {
      std::memcpy(to, from, stride);
      for (unsigned i = 0; i < Pointers; ++i) {
        const std::uint64_t place = load_unit(from + offsets[i]);
        store_unit(to + offsets[i], place == 0 ? 0 : shift + place);
      }
    }
  }

  // Other objects; bit by bit, so that what is copied is still in the cache when its pointers are made.
  void write_chunks(const run& now, element_layout element) const noexcept {
    const std::uint64_t step = std::max<std::uint64_t>(chunk_units / element.units, 1) * element.units;
    for (std::uint64_t begin = now.begin; begin < now.end; begin += step) {
      const std::uint64_t end = std::min<std::uint64_t>(now.end, begin + step);
      std::memcpy(copy + begin * 8, plan.image_ + begin * 8, (end - begin) * 8);
      for (std::uint64_t at = begin; at < end; at += element.units) relocate_object(copy + at * 8, *element.type);
    }
  }

  void write_left(const run& now) noexcept {
    copy_object(copy + std::uint64_t{now.begin} * 8, plan.left_[left].source, plan.left_[left].bytes);
    write_left_pointers(now);
  }
  void write_left_pointers(const run& now) noexcept {
    ++left;
    if (now.type->shape != shape::object) return;
    for (const simple_pointer& each : now.type->pointers) {
      std::memcpy(copy + std::uint64_t{now.begin} * 8 + each.offset,
                  plan.image_ + std::uint64_t{now.begin} * 8 + each.offset, 8);
      relocate(copy + std::uint64_t{now.begin} * 8 + each.offset);
    }
  }

  [[nodiscard]] bool is_next_left(const run& now) const noexcept {
    return left != plan.left_.size() && plan.left_[left].begin == now.begin;
  }

  // A run of a message, without what is no value; bit by bit, so that what is copied is still in the cache when it is
  // looked at again.
  void write_values(const run& now) noexcept {
    const bool was_left = is_next_left(now);
    const std::uint64_t bytes = was_left ? plan.left_[left].bytes : std::uint64_t{now.end - now.begin} * 8;
    const std::byte* const from = was_left ? plan.left_[left].source : plan.image_ + std::uint64_t{now.begin} * 8;
    std::byte* const to = copy + std::uint64_t{now.begin} * 8;
    const std::uint64_t period = now.type->gap_period;
    const std::uint64_t step = std::max<std::uint64_t>(chunk_units * 8 / period, 1) * period;
    for (std::uint64_t at = 0; at < bytes; at += step) {
      const std::uint64_t part = std::min(step, bytes - at);
      copy_object(to + at, from + at, part);
      clear_gaps(to + at, (part + 7) & ~std::uint64_t{7}, *now.type);
    }
    if (was_left) write_left_pointers(now);
  }

  void list_finalizers(const run& now) noexcept {
    const std::uint64_t type = std::uint64_t{now.type->index} << type_shift;
    if (now.type->shape != shape::object) {
      *finalizer++ = now.begin | type;
      *finalizer++ = std::uint64_t{now.end - now.begin} * 8 / now.type->size;
      return;
    }
    for (std::uint64_t at = now.begin; at < now.end; at += now.type->units) *finalizer++ = at | type;
  }

  static constexpr std::uint64_t chunk_units = 512;
  static constexpr std::uint64_t most_words = 16;
};

template <class Write>
void graph_plan::write_runs(std::byte* to, Write write_run) const {
  std::uint64_t end = first_unit;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const run& now = runs_[i];
    if (now.begin == now.end) continue;
    if (now.begin != end) std::memset(to + end * 8, 0, (now.begin - end) * 8);
    end = now.end;
    write_run(now);
  }
}

void graph_plan::write(std::byte* to, std::uint64_t base, std::uint64_t* finalizers) const {
  writer w{*this, to, base - pointer_base_, finalizers};
  write_runs(to, [&](const run& now) {
    if (w.is_next_left(now)) {
      w.write_left(now);
    } else {
      w.write_objects(now);
    }
    if (now.type->has_containers && finalizers != nullptr) w.list_finalizers(now);
  });
}

void graph_plan::write_image(std::byte* to) const {
  writer w{*this, to, 0, nullptr};
  write_runs(to, [&](const run& now) {
    if (now.type->has_gaps) {
      w.write_values(now);
    } else if (w.is_next_left(now)) {
      w.write_left(now);
    } else {  // its pointers are offsets already
      copy_object(to + std::uint64_t{now.begin} * 8, image_ + std::uint64_t{now.begin} * 8,
                  std::uint64_t{now.end - now.begin} * 8);
    }
  });
}

// --- the thread's plan ---

namespace {
// Working memory, not state: plans are empty between copies. A thread, not a place, owns them, since graphs are also
// copied outside a runtime. More than one, since a plan is held while its message waits for room, and other tasks copy
// meanwhile.
thread_local std::array<std::unique_ptr<graph_plan>, 4> spare_plans;
}  // namespace

borrowed_plan::borrowed_plan() {
  for (auto& spare : spare_plans)
    if (spare && !plan_) plan_ = std::move(spare);
  if (!plan_) plan_ = std::make_unique<graph_plan>();
}
borrowed_plan::~borrowed_plan() {
  plan_->clear();
  for (auto& spare : spare_plans)
    if (!spare && plan_) spare = std::move(plan_);
}

}  // namespace situ::detail
