// The units behind offloads (graph/graph_units.h) on a modelled machine that has such devices. This file is compiled
// with the hooks, as a part of the program's Situ. Its code runs in agents and devices, whose instructions take no
// time, or in receivers.
#include "graph/graph_units.h"

#include <situ/base/error.h>
#include <situ/memory/allocate.h>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/plan.h"
#include "model/execution/calls.h"

namespace situ::detail {
namespace {

static_assert(most_roots == model::graph_work::most_roots);

// A device's work in progress for a slot.
struct device_work {
  model::graph_work work;
  measured_graph* measured = nullptr;
  graph_devices::when_over over;
};

void end_work(model::graph_work& work) {
  auto& done = *static_cast<device_work*>(work.context);
  const graph_devices::when_over over = std::exchange(done.over, nullptr);
  if (work.error_code != 0) {
    const error failure{static_cast<errc>(work.error_code - 1), std::string{work.error_text}};
    return over(&failure);
  }
  for (std::size_t i = 0; i < work.roots.size(); ++i) done.measured->roots[i] = work.root_units[i];
  over(nullptr);
}

class devices_of_machine final : public graph_devices {
 public:
  void begin_copy(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place, std::uint32_t reader,
                  measured_graph& measured, const copy_destination& to, when_over over) override {
    device_work& made = works_[slot];
    made = {.work = {.place = place, .reader = reader, .roots = roots, .over = &end_work},
            .measured = &measured,
            .over = std::move(over)};
    made.work.context = &made;
    made.work.objects = measured.objects;
    made.work.finalizers = measured.finalizer_words;
    made.work.destination = to.bytes;
    made.work.head_bytes = sizeof(arena);
    made.work.destination_bytes = measured.copy_bytes;
    made.work.destination_finalizers = to.finalizers;
    situ_model_copy_graph(&made.work);
  }

 private:
  std::array<device_work, offload_slots> works_;
};

// Measures the room for a copy by the unit, which stores objects in another order than the plan: alignment may take
// more room.
class measurer_with_room final : public graph_measurer {
 public:
  explicit measurer_with_room(std::unique_ptr<graph_measurer> exact) noexcept : exact_{std::move(exact)} {}
  measured_graph measure(std::size_t slot, std::span<const graph_root> roots, copy_map map) override {
    measured_graph found = exact_->measure(slot, roots, map);
    found.copy_bytes += found.objects * (found.alignment - 8);
    return found;
  }
  void forget(std::size_t slot) noexcept override { exact_->forget(slot); }

 private:
  std::unique_ptr<graph_measurer> exact_;
};

graph_units make_units_of_machine(bool staged) {
  graph_units made = make_software_units(staged);
  made.devices = std::make_unique<devices_of_machine>();
  made.measurer = std::make_unique<measurer_with_room>(std::move(made.measurer));
  return made;
}

// --- if a unit measures, and sends the call

// Passes the result of a work to `over`.
template <class Over>
void call_over(const model::graph_work& work, Over over) {
  if (work.error_code == 0) return over(nullptr);
  const error failure{static_cast<errc>(work.error_code - 1), std::string{work.error_text}};
  over(&failure);
}

void dispatch_graph(unit_walk& walk) {
  const model::graph_request request{
      .place = walk.place,
      .reader = walk.place,
      .roots = walk.roots.data(),
      .root_count = walk.roots.size(),
      .room = walk.room,
      .over =
          [](model::graph_work& work) {
            const measured_graph found{.copy_bytes = sizeof(arena) + work.room_bytes,
                                       .objects = work.objects + work.blocks,
                                       .finalizer_words = work.finalizers,
                                       .alignment = work.alignment};
            auto& over = *static_cast<unit_walk*>(work.context);
            call_over(work, [&](const std::exception* failure) { over.over(over, found, failure, work.words); });
          },
      .context = &walk};
  situ_model_dispatch_graph(&request);
}

bool recall_graph(unit_walk& walk) { return situ_model_recall_graph(&walk); }

void copy_graph_by_unit(unit_copy& copy) {
  const model::graph_request request{.place = copy.place,
                                     .reader = copy.reader,
                                     .roots = copy.roots.data(),
                                     .root_count = copy.roots.size(),
                                     .objects = copy.measured->objects,
                                     .finalizers = copy.measured->finalizer_words,
                                     .destination = copy.to.bytes,
                                     .head_bytes = sizeof(arena),
                                     .destination_bytes = copy.measured->copy_bytes,
                                     .destination_finalizers = copy.to.finalizers,
                                     .over =
                                         [](model::graph_work& work) {
                                           auto& over = *static_cast<unit_copy*>(work.context);
                                           for (std::size_t i = 0; i < work.roots.size(); ++i)
                                             over.measured->roots[i] = work.root_units[i];
                                           call_over(work,
                                                     [&](const std::exception* failure) { over.over(over, failure); });
                                         },
                                     .context = &copy};
  situ_model_copy_graph_of(&request);
}

constexpr units_that_dispatch dispatching_units{
    .dispatch = &dispatch_graph, .recall = &recall_graph, .copy = &copy_graph_by_unit};

// Makes the allocator's load of a copy by software: one allocation per object (section 6.1 of the paper).
void allocate_dummies(std::uint64_t objects, std::uint64_t bytes) {
  std::vector<ptr<std::byte>> made;
  made.reserve(objects);
  for (std::uint64_t i = 0; i < objects; ++i) made.push_back(situ::allocate_bytes(bytes / objects, {.alignment = 16}));
  for (const ptr<std::byte>& each : made) deallocate(each);
}

}  // namespace
}  // namespace situ::detail

extern "C" void situ_model_use_graph_units() {
  using namespace situ::detail;
  set_graph_units({.make = &make_units_of_machine,
                   .dispatching = situ_model_writes_graphs_back() ? &dispatching_units : nullptr,
                   .drop_destination = true,
                   .after_copy = situ_model_makes_dummy_allocations() ? &allocate_dummies : nullptr});
}
extern "C" const situ::detail::type_descriptor* situ_model_find_tagged(std::uint64_t tag) noexcept {
  return situ::detail::find_tagged(tag);
}
extern "C" bool situ_model_derives_from(const situ::detail::type_descriptor* type,
                                        const situ::detail::type_descriptor* base) noexcept {
  return situ::detail::derives_from(*type, *base);
}
