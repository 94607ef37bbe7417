// Copies a graph whose objects do not lie in one block: each gets memory of its own.
#include <situ/base/error_code.h>
#include <situ/graph/containers.h>

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "graph/graph_walk.h"
#include "graph/plan.h"

namespace situ::detail {

struct graph_plan::scattering {
  const graph_plan& plan;
  // The address of the object that begins at a unit of the copy; entries of other units are not set.
  std::unique_ptr<std::byte*[], decltype(&std::free)> places = make_table(plan.next_);

  // The table is written once from front to end. If it is large, it uses huge pages, since page faults would cost more
  // than the rest.
  static std::unique_ptr<std::byte* [], decltype(&std::free)> make_table(std::uint64_t entries) {
    constexpr std::uint64_t huge_page = std::uint64_t{1} << 21;
    const std::uint64_t bytes = entries * sizeof(std::byte*);
    const bool is_large = bytes >= 2 * huge_page;
    void* const memory =
        is_large ? std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page) : std::malloc(bytes);
    if (memory == nullptr) throw_error(errc::out_of_memory, "no memory for the table of a graph that is copied");
    if (is_large) ::madvise(memory, bytes, MADV_HUGEPAGE);
    return {static_cast<std::byte**>(memory), &std::free};
  }

  void give_places(const give_memory& give) const {
    for (std::size_t i = 0; i < plan.runs_.size(); ++i) {
      const run& now = plan.runs_[i];
      if (now.begin == now.end) continue;
      if (now.type->kind != object_kind::object) {
        give(std::uint64_t{now.end - now.begin} * 8, now.type->alignment, 1, &places[now.begin], 1);
      } else {
        const std::uint64_t units = now.type->units;
        give(units * 8, now.type->alignment, (now.end - now.begin) / units, &places[now.begin], units);
      }
    }
  }

  void lead(std::byte* word) const noexcept {
    const std::uint64_t offset = load_unit(word);
    std::byte* const to = offset == 0 ? nullptr : places[offset / 8];
    std::memcpy(word, &to, sizeof to);
  }
  void lead_object(std::byte* object, const type_descriptor& type) const noexcept {
    for (const simple_pointer& each : type.pointers) lead(object + each.offset);
    if (!type.others.empty()) lead_others(object, type.others);
  }
  void lead_others(std::byte* object, const std::vector<op>& ops) const noexcept {
    for (const op& each : ops) {
      if (each.kind == op_kind::pointer) lead(object + each.offset);
      if (each.kind == op_kind::array) lead_array(object + each.offset, each);
      if (each.kind == op_kind::choice)
        lead_others(object, each.cases->alternatives[static_cast<unsigned>(object[each.offset])]);
    }
  }
  // Sets the address of a container's elements. A pool's container owns its block; other containers do not.
  void lead_array(std::byte* at, const op& each) const noexcept {
    lead(at);
    if (!each.in_pool) return;
    const std::uint64_t capacity = load_unit(at + 16) & array_descriptor::capacity_mask;
    store_unit(at + 16, capacity);
  }

  // Writes bytes of the copy to their destination; data that was left at the source is read from there.
  void write(std::byte* to, std::uint64_t unit, std::uint64_t bytes, const left_data* left) const noexcept {
    if (left == nullptr) return copy_object(to, plan.image_ + unit * 8, bytes);
    copy_object(to, left->source, left->bytes);
  }
  void write_object(std::uint64_t unit, const type_descriptor& type, const left_data* left) const noexcept {
    std::byte* const to = places[unit];
    write(to, unit, std::uint64_t{type.units} * 8, left);
    if (left != nullptr)
      for (const simple_pointer& each : type.pointers)
        std::memcpy(to + each.offset, plan.image_ + unit * 8 + each.offset, 8);
    lead_object(to, type);
  }
  void write_block(const run& now, const left_data* left) const noexcept {
    std::byte* const to = places[now.begin];
    const std::uint64_t bytes = std::uint64_t{now.end - now.begin} * 8;
    write(to, now.begin, bytes, left);
    const type_descriptor& type = *now.type;
    if (type.kind == object_kind::data_block || has_nothing_to_scan(type)) return;
    for (std::uint64_t at = 0; at + type.size <= bytes; at += type.size)
      type.kind == object_kind::pointer_block ? lead(to + at) : lead_object(to + at, *type.element);
  }
  void write_all() const noexcept {
    std::size_t next_left = 0;
    for (std::size_t i = 0; i < plan.runs_.size(); ++i) {
      const run& now = plan.runs_[i];
      if (now.begin == now.end) continue;
      const bool is_left = next_left != plan.left_.size() && plan.left_[next_left].begin == now.begin;
      const left_data* const left = is_left ? &plan.left_[next_left++] : nullptr;
      if (now.type->kind != object_kind::object) {
        write_block(now, left);
        continue;
      }
      for (std::uint64_t at = now.begin; at < now.end; at += now.type->units) write_object(at, *now.type, left);
    }
  }
};

std::byte* graph_plan::scatter(const give_memory& give) const {
  const scattering to{*this};
  to.give_places(give);
  to.write_all();
  return roots_[0] == 0 ? nullptr : to.places[roots_[0]];
}

void graph_plan::visit_types(const std::function<void(const type_descriptor&)>& visit) const {
  for (std::size_t i = 0; i < runs_.size(); ++i) visit(*runs_[i].type);
}

}  // namespace situ::detail
