// The units behind offloads (graph/graph_units.h) on a modelled machine that has such devices. Compiled with the hooks,
// as a part of the program's Situ; what runs here runs in agents and devices, whose instructions take no time, or in
// receivers.
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

// What a device has under way of a slot.
struct device_work {
  model::graph_work work;
  measured_graph* measured = nullptr;
  graph_devices::when_over over;
  bool is_copy = false;
};

void end_work(model::graph_work& work) {
  auto& done = *static_cast<device_work*>(work.context);
  const graph_devices::when_over over = std::exchange(done.over, nullptr);
  if (work.error_code != 0) {
    const error failure{static_cast<errc>(work.error_code), std::string{work.error_text}};
    return over(&failure);
  }
  measured_graph& measured = *done.measured;
  if (done.is_copy) {
    for (std::size_t i = 0; i < work.roots.size(); ++i) measured.roots[i] = work.root_units[i];
  } else {
    measured = {.copy_bytes = sizeof(arena) + work.room_bytes,
                .objects = work.objects + work.blocks,
                .finalizer_words = work.finalizers,
                .alignment = work.alignment};
  }
  over(nullptr);
}

class devices_of_machine final : public graph_devices {
 public:
  void enter_agent() override {
    if (situ_model_writes_graphs_back()) situ_model_become_device();  // it has nothing to do but to pass on
  }
  [[nodiscard]] bool measures() const noexcept override { return situ_model_writes_graphs_back(); }
  void begin_measure(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place, measured_graph& found,
                     when_over over) override {
    situ_model_write_graph_back(&prepare(slot, roots, place, place, found, std::move(over)).work);
  }
  void begin_copy(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place, std::uint32_t reader,
                  measured_graph& measured, const copy_destination& to, when_over over) override {
    device_work& made = prepare(slot, roots, place, reader, measured, std::move(over));
    made.is_copy = true;
    made.work.objects = measured.objects;
    made.work.finalizers = measured.finalizer_words;
    made.work.destination = to.bytes;
    made.work.head_bytes = sizeof(arena);
    made.work.destination_bytes = measured.copy_bytes;
    made.work.destination_finalizers = to.finalizers;
    situ_model_copy_graph(&made.work);
  }

 private:
  device_work& prepare(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place, std::uint32_t reader,
                       measured_graph& measured, when_over over) {
    device_work& made = works_[slot];
    made = {.work = {.place = place, .reader = reader, .roots = roots, .over = &end_work},
            .measured = &measured,
            .over = std::move(over)};
    made.work.context = &made;
    return made;
  }
  std::array<device_work, offload_slots> works_;
};

// Where units write graphs back themselves, there is nothing for it to do.
class no_measurer final : public graph_measurer {
 public:
  measured_graph measure(std::size_t, std::span<const graph_root>, copy_map) override {
    throw_error(errc::not_supported, "a graph is measured by software on a machine whose units do that");
  }
  void forget(std::size_t) noexcept override {}
};

// A copy by the unit lays objects out in another order than the plan: alignment may take more room.
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
  if (situ_model_writes_graphs_back()) {
    made.measurer = std::make_unique<no_measurer>();
  } else {
    made.measurer = std::make_unique<measurer_with_room>(std::move(made.measurer));
  }
  return made;
}

// The allocator's load of a copy by software, an object each (section 6.1 of the paper).
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
