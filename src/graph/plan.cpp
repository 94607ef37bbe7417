#include "graph/plan.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/gaps.h"
#include "graph/graph_walk.h"

namespace situ::detail {
namespace {

constexpr std::size_t kept_list_bytes = std::size_t{64} << 20;  // of each list, between graphs

}  // namespace

void throw_bad_tag(std::uintptr_t object, std::uint64_t tag, const type_descriptor& declared) {
  throw_error(errc::bad_argument, fmt::format("the object at {:#x} is declared as {} but its header ({:#x}) names no "
                                              "type that derives from it: it was never constructed, or is gone",
                                              object, declared.name, tag));
}
void throw_bad_choice(const type_descriptor& type, unsigned flag) {
  throw_error(errc::bad_argument, fmt::format("an object of type {} holds an optional or variant in state {}, which "
                                              "there is not: it was never constructed, or is gone",
                                              type.name, flag));
}

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
  if (is_in_place_) std::memcpy(memory, image_, next_ * 8);  // the copy does not fit into its place
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
  const bool is_object = last.type->kind == object_kind::object;
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
  job.window = access_window{std::uint64_t{target.units} * 8};
  if (target.is_tagged || target.starts_with_class || target.has_values || target.alignment != 8 ||
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
  values_.clear(kept_list_bytes);
  value_bytes_ = 0;
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
  if constexpr (!has_coherent_places) writes_back_ = check == source_check::handed_over;
  if (check == source_check::segments) {
    discover_with<true>(roots, count, map);
  } else {
    discover_with<false>(roots, count, map);
  }
  if (runs_.size() != 0) end_run(next_);
  if (values_.size() != 0) measure_values();
}

bool graph_plan::discover_small(const graph_root* roots, std::size_t count, std::uint64_t most_bytes, copy_map map) {
  struct limit {
    std::uint64_t& units;
    ~limit() { units = no_stop; }
  } const until_the_end{stop_at_ = most_bytes / 8};
  discover(roots, count, map, source_check::none);
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
    return graph_walk<std::remove_reference_t<decltype(with)>, Checked>{*this, with};
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

// Writes the runs one after the other.
struct graph_plan::writer {
  const graph_plan& plan;
  std::byte* const copy;
  const std::uint64_t shift;  // added to pointers
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

  // Writes small objects that have this number of pointers and nothing else to change. pointers null: words that are
  // pointers.
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

  // Writes other objects in chunks, so that a chunk is still in the cache when its pointers are changed.
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
    if (now.type->kind != object_kind::object) return;
    for (const simple_pointer& each : now.type->pointers) {
      std::memcpy(copy + std::uint64_t{now.begin} * 8 + each.offset,
                  plan.image_ + std::uint64_t{now.begin} * 8 + each.offset, 8);
      relocate(copy + std::uint64_t{now.begin} * 8 + each.offset);
    }
  }

  [[nodiscard]] bool is_next_left(const run& now) const noexcept {
    return left != plan.left_.size() && plan.left_[left].begin == now.begin;
  }

  // Writes a run of a message and clears the bytes that are no value, in chunks, so that a chunk is still in the cache
  // when it is cleared.
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
    if (now.type->kind != object_kind::object) {
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
    } else {  // pointers are offsets already
      copy_object(to + std::uint64_t{now.begin} * 8, image_ + std::uint64_t{now.begin} * 8,
                  std::uint64_t{now.end - now.begin} * 8);
    }
  });
}

// --- values ---

template <class Visit>
void graph_plan::visit_values(Visit visit) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const value_holders& each = values_[i].holders;
    for (std::uint64_t k = 0; k < each.count; ++k)
      visit_values_of(each.first + k * each.type->size, each.type->others, visit);
  }
}

void graph_plan::measure_values() {
  sharing_pass<measured_objects> pass;
  visit_values(
      [&](const std::byte* value, const value_functions& functions) { value_bytes_ += functions.size(value); });
  pass.finish();
}

void graph_plan::write_values(wire_writer& writer) const {
  sharing_pass<written_objects> pass;
  visit_values([&](const std::byte* value, const value_functions& functions) { functions.write(writer, value); });
  pass.finish();
}

void graph_plan::copy_values(std::byte* to) const {
  std::vector<std::byte> bytes(value_bytes_);
  wire_writer writer{bytes.data()};
  write_values(writer);
  std::vector<value_holders> copies;
  copies.reserve(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    copies.push_back(values_[i].holders);
    copies.back().first = to + values_[i].begin * 8;
  }
  construct_values(copies, {bytes.data(), bytes.size()});
}

// --- the thread's plan ---

namespace {
// Working memory, not state: plans are empty between copies. A thread, not a place, owns them, since graphs are also
// copied outside a runtime. There are several, since a plan is held while its message waits for room, and other tasks
// copy at that time.
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
